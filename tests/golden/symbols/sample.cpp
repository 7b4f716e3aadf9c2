#include <vector>
#include "own.hpp"
using namespace std;
using std::string;
namespace a::b {
template <class T, int N = (1 > 2)>
class Box : public Base<T>, private Other {
public:
  Box() : size_{1}, data(nullptr) {}
  explicit Box(int n);
  ~Box();
  int size() const noexcept override { return size_; }
  static constexpr int limit = 3;
  template <typename U> void put(U u);
  bool operator==(const Box& o) const = default;
  explicit operator bool() const { return true; }
  enum class Mode : int { On, Off };
  friend void peek(Box&);
  using value_type = T;
  struct Nested { int x; };
private:
  int size_ = 0;
  T* data;
};
}
template <class T> struct Trait { static const bool value = false; };
int a::b::Box::helper(int x) { return x; }
std::vector<int> make() { return R"(})"; }
A::A(int x) : Base(x), y{x} { }
auto trailing() -> int { return 1; }
using Alias = std::map<int, string>;
Box operator+(const Box& l, const Box& r) { return l; }
extern "C" { void plain(void) { } }
constexpr int K = 1'000;
union U { int i; float f; };
class Forward;
#define MACRO(x) x
