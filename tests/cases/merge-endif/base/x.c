int a;
#ifdef X
int b;
#endif
int c;
