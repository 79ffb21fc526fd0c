int a;
#ifdef X
#endif
int n;
int c;
