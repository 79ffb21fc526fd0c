int a;
#ifdef X
int b;
int q;
#endif
int c;
