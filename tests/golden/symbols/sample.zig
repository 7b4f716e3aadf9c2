const std = @import("std");
pub const Shape = struct {
    sides: u32,
    const limit = 1;
    pub fn area(self: Shape) u32 { return '{' + 1; }
};
const Kind = enum { plain, other };
const Tagged = union(enum) { x: u8 };
fn top() void {}
pub extern fn external() void;
var count: u32 = 1;
