const fs = require("fs");
const { join, sep: separator } = require("path");
import def, { named } from "./mod.mjs";

(function wrapper() {
  var inner = 1;
})();
class A extends B { static s = 1; field; m() {} static async *g() {} get p() { return 1; } }
const f = (x) => x, g = function () {};
function plain() { return a / b / c; }
module.exports = { method() {}, key: function () {}, other: () => 1 };
exports.helper = function () {};
A.prototype.later = function () {};
export { f as renamed };
export default plain;
