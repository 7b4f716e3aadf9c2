import Foundation
import struct Foo.Bar

public protocol Draw { func draw(); var size: Int { get }; associatedtype Item }
open class Shape<T>: Base, Draw {
    var sides = 4
    let name: String
    init(n: Int) { self.name = "\(n + 1) }" }
    deinit { }
    func draw() { func local() {} }
    var area: Int { return sides * 2 }
    struct Nested { let x: Int }
    enum Kind: Int { case plain = 1, other; case with(Int) }
}
extension Shape: Equatable { static func == (a: Shape, b: Shape) -> Bool { true } }
typealias Id = Int
func top() -> Int { 1 }
actor Worker { }
