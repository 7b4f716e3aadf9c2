#include "a.h"
#define M 1
#define F(x) do { \
  x; } while (0)
STATIC INLINE int f1(int a) { return a; }
API const char *f2(int b);
static int __init f3(void)
{
#define INNER 3
	if (x) {
#ifdef A
	}
#else
	}
#endif
}
SYSCALL_DEFINE3(open, const char __user *, filename, int, flags)
{ }
int kr(a, b) int a; char *b; { return 0; }
LUA_API int (lua_gettop) (lua_State *L) { return 1; }
int (*fp(int a))(int b) { }
static void (*cb)(int);
typedef int (*handler_t)(int, void *);
typedef struct { int x, y; } point_t;
typedef struct node { struct node *next; int v : 3; union { int u1; float u2; }; struct { int in; } s; void (*op)(int); char buf[10]; } node_t, *node_p;
struct fwd;
struct A { int z; } ga, *gb = 0;
enum E { E1, E2 = 3, E3 };
enum { AN1, AN2 };
union U { int q; };
extern int ext;
static const struct file_operations fops = { .open = f1, };
int arr[] = { 1, 2 }, after;
#ifdef X
static int g1(int a) {
#else
static int g1(long a) {
#endif
	return 1;
}
EXPORT_SYMBOL(g1);
MODULE_LICENSE("GPL");
__printf(1, 2) int pf(const char *f, ...) { return 0; }
static __always_inline __must_check struct foo *bar(struct foo *x) __acquires(l) __releases(m) { return 0; }
#if 0
int gone(void) { }
#endif
int last(void) { char c = '{'; const char *s = "}"; /* } */ return 0; }
DEFINE_MUTEX(mm);
static DEFINE_SPINLOCK(sl);
int proto(int), proto2(void);
unsigned long long big;
struct ret { int a; } retf(void) { }
