import def, { a as b, type T } from "./mod.js";
import * as ns from "pkg";
import type { Only } from "./types";
import "./side.css";
import q = require("./c");
export * from "./all";
export * as space from "./space";
export { one as two } from "./named";
const lazy = () => import("./lazy");
let t: import("./t").T;

export const arrow = async <X,>(x: X): Promise<X> => {
  const local = 1 < 2 ? x : x;
  return local;
};
export default abstract class Service<T> extends Base implements I {
  static count = 0;
  #secret = 1;
  handler = (event: Event) => { this.go(); };
  constructor(private readonly dep: Dep) { super(); }
  get value(): number { return 1; }
  set value(v: number) {}
  async *items(): AsyncGenerator<string> { yield `a ${this.count} }`; }
  abstract draw(): void;
}
export function overload(a: string): void;
export function overload(a: number): void;
export function overload(a: any) { return /[/"]/.test(a); }
interface I { prop: number; method(): void; new (): I; [key: string]: unknown }
enum Color { Red, Green = 2 }
const enum Fast { A }
type Union = { kind: "a" } | string;
namespace Outer.Inner { export const deep = 1; export function f() {} }
declare module "ext" { export function z(): void; }
declare global { var g: number }
function* gen() {}
const obj = { short() {}, long: function () {}, arrow: () => 1, plain: 2 };
if (1 > 2 && 2 < 1) { after(); }
function last() {}
