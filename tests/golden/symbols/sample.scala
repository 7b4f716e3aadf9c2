package app.core

import a.b.{C, D => E}
import a.wild._

trait Draw { def draw(): Unit }
class Shape[T](val n: Int) extends Base with Draw {
  val sides = 4
  var name: String = s"${n} }"
  type Id = Int
  def draw(): Unit = { val local = 1 }
  def abs: Int
}
object Shape { def make() = new Shape[Int](1) }
case class Point(x: Int, y: Int)
enum Color { case Red, Green }
def top(x: Int) = x
