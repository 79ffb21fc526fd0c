int a;
#ifdef X
#endif
int c;
