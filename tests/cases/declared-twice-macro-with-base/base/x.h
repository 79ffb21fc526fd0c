#define Q 1
#define R 2
#define S 3
