// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// One error whose type has a name of many thousand letters.
template <class A, class B> struct pair_of {};
typedef int t0;
typedef pair_of<t0, t0> t1;
typedef pair_of<t1, t1> t2;
typedef pair_of<t2, t2> t3;
typedef pair_of<t3, t3> t4;
typedef pair_of<t4, t4> t5;
typedef pair_of<t5, t5> t6;
typedef pair_of<t6, t6> t7;
typedef pair_of<t7, t7> t8;
typedef pair_of<t8, t8> t9;
typedef pair_of<t9, t9> t10;
typedef pair_of<t10, t10> t11;
typedef pair_of<t11, t11> t12;
typedef pair_of<t12, t12> t13;
typedef pair_of<t13, t13> t14;
extern "C" __global__ void k(const float* x, float* y, int n) { t14 a; y[0] = a; }
