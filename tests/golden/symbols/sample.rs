#![allow(dead_code)]
use crate::ast::{self, Ast as Tree, nested::{Deep, *}};
pub use super::super::x;
extern crate core as std_core;
mod plain;
#[path = "../shared/m.rs"]
pub(crate) mod pathed;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod os;
mod inline { mod child; use self::child::Thing; }

/// Documented.
#[derive(Debug)]
pub struct Named<'a, T: Clone> { pub field: HashMap<K, T>, r#type: &'a str }
struct Tuple(u8, pub u16);
struct Unit;
enum Kind { Plain, With(u8), Record { inside: char }, Set = 4 }
union Bits { a: u32, b: f32 }
pub trait Draw: Sized { type Output; const N: u8; fn draw(&self) -> Self::Output; fn given() {} }
impl<T> Draw for Named<'_, T> where T: Iterator<Item = u8> {
    type Output = u8;
    const N: u8 = 1;
    fn draw(&self) -> u8 { let c = '{'; let s = r#"}"#; 'x: loop { break 'x; } 1 }
}
impl Kind { pub const fn new() -> Self { use std::mem; Kind::Plain } }
const LIMIT: usize = { 1 + 2 };
static mut COUNT: u32 = 0;
type Short = Vec<u8>;
macro_rules! make { ($x:expr) => { fn hidden() {} }; }
make! { fn not_seen() {} }
extern "C" { fn ffi(x: i32); static ERR: i32; }
pub unsafe extern "C" fn exported() {}
async fn later() {}
