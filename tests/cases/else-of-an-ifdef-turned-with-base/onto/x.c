#ifndef A
int one;
int two;
#else
int three;
int four;
int five;
#endif
