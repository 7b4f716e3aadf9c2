package app.core

import a.b.C
import a.b.D as E
import a.wild.*

const val TOP = 1
typealias Handler = (Int) -> Unit

data class Point(val x: Int, val y: Int)
open class Shape<T>(val n: Int) : Base(n), Draw {
    var sides: Int = 4
    override fun draw(): Unit { val local = "${n + 1} }" }
    companion object { fun make() = Shape<Int>(1) }
    inner class Inner
}
interface Draw { fun draw() }
object Single { fun go() {} }
enum class Color { RED, GREEN }
fun String.shout(): String = uppercase()
val lazyValue by lazy { 1 }
