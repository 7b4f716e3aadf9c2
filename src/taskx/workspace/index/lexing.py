"""What each language looks like to the lexer: traits, and keywords with their meaning.

The bits and keyword ids are those of `_native/lexer.pxd`; a test compares them. Keywords are left
out of the identifiers; a soft one (marked `~`) is an identifier as well, since it is also a name.
"""

from __future__ import annotations

SLASH_LINE = 1
SLASH_BLOCK = 2
NESTED = 4
HASH_LINE = 8
DASH_LINE = 16
SEMI_LINE = 32
PERCENT_LINE = 64
PREPROCESSOR = 128
TICK_CHAR = 256
LIFETIME = 512
REGEX = 1024
JSX = 2048
HEREDOC = 4096
TRIPLE = 8192
QUALS = 16384
PERCENT_LITERAL = 32768
COLON_TYPE = 65536
NO_SINGLE = 131072
NEST_BRACE_DASH = 262144
LONG_BRACKET = 524288
MARKUP = 1048576
PAREN_STAR = 2097152

SOFT = 128

# Meaning of a keyword: the K_ codes of lexer.pxd, in their order; "other" has none.
_MEANINGS = """
none other abstract alias as async case catch class const crate data def default defmodule else
end enum export extends extension extern fn for from func function global if impl import in
include interface lambda let local macro mod module namespace new object package protocol pub
qualified record require return self source static struct super trait try type typedef union use
using val var where with autoload typeof instanceof implements throws dyn unsafe operator
template do while switch inline declare mut ref hiding include_once final void elif except
finally not raise await private protected public friend attribute primitive get set readonly
override accessor
"""
MEANINGS = {name: code for code, name in enumerate(_MEANINGS.split())}

_C_WORDS = """break case continue default do else enum extern for goto if inline register restrict
return sizeof static struct switch typedef union volatile while const auto
int=primitive char=primitive void=primitive long=primitive short=primitive unsigned=primitive
signed=primitive float=primitive double=primitive _Bool=primitive bool=primitive
__attribute__=attribute __attribute=attribute __declspec=attribute _Alignas=attribute
__asm__=attribute __asm=attribute asm=attribute __extension__=other __inline=inline
__inline__=inline __restrict=other __volatile__=other __const=const _Static_assert=attribute
_Noreturn=other _Thread_local=static __thread=static typeof=attribute __typeof__=attribute
__typeof=attribute"""

_CPP_WORDS = """alignas=attribute alignof catch class concept const_cast consteval constexpr
constinit decltype=attribute delete dynamic_cast explicit export=other false friend mutable
namespace new noexcept=attribute nullptr operator private protected public reinterpret_cast
requires static_assert=attribute static_cast template this=self throw true try typeid typename
using virtual wchar_t=primitive char8_t=primitive char16_t=primitive char32_t=primitive
~final ~override ~import ~module"""

_JS_WORDS = """break case catch class const continue debugger default delete do else enum export
extends false finally for function if import in instanceof new null return super=super switch
this=self throw true try typeof var void while with yield let static=static await
~async ~as ~from ~get ~set ~of=other ~require ~type"""

_TS_WORDS = """ ~abstract ~declare ~implements ~interface ~module ~namespace ~private ~protected
~public ~readonly ~global ~accessor ~override ~keyof=other ~is=as ~infer=other ~satisfies=as
~unknown=primitive ~any=primitive ~string=primitive ~number=primitive ~boolean=primitive
~never=primitive ~bigint=primitive ~symbol=primitive ~undefined=other"""

_JAVA_WORDS = """abstract assert boolean=primitive break byte=primitive case catch char=primitive
class const continue default do double=primitive else enum extends final finally float=primitive
for goto if implements import instanceof int=primitive interface long=primitive native new null
package private protected public return short=primitive static strictfp super switch synchronized
this=self throw throws transient true false try void=primitive volatile while ~var ~record
~sealed=other ~permits=implements ~yield=other ~module ~with"""

# language: traits, keywords. `word=meaning` where the meaning has another name.
_TABLE: dict[str, tuple[int, str]] = {
    "python": (
        HASH_LINE | TRIPLE | QUALS | COLON_TYPE,
        """False None True and as assert async await break class continue def del elif else except
        finally for from global if import in is lambda nonlocal not or pass raise return try while
        with yield ~match=switch ~case ~type ~self ~cls=self ~print=other""",
    ),
    "typescript": (SLASH_LINE | SLASH_BLOCK | REGEX | QUALS | COLON_TYPE, _JS_WORDS + _TS_WORDS),
    "tsx": (SLASH_LINE | SLASH_BLOCK | REGEX | JSX | QUALS | COLON_TYPE, _JS_WORDS + _TS_WORDS),
    "javascript": (SLASH_LINE | SLASH_BLOCK | REGEX | JSX | QUALS, _JS_WORDS),
    "go": (
        SLASH_LINE | SLASH_BLOCK | TICK_CHAR | QUALS,
        """break case chan const continue default defer else fallthrough for func go goto if import
        interface map package range return select struct switch type var ~string=primitive
        ~int=primitive ~bool=primitive ~byte=primitive ~error=primitive ~nil=other ~true=other
        ~false=other ~any=primitive""",
    ),
    "rust": (
        SLASH_LINE | SLASH_BLOCK | NESTED | TICK_CHAR | LIFETIME | QUALS | COLON_TYPE,
        """as async await break const continue crate dyn else enum extern false fn for if impl in
        let loop match=switch mod move mut pub ref return self=self Self=self static struct super
        trait true type unsafe use where while ~union ~macro_rules=macro ~auto=other""",
    ),
    "c": (SLASH_LINE | SLASH_BLOCK | PREPROCESSOR | TICK_CHAR, _C_WORDS),
    "cpp": (
        SLASH_LINE | SLASH_BLOCK | PREPROCESSOR | TICK_CHAR | QUALS,
        _C_WORDS + " " + _CPP_WORDS,
    ),
    "java": (SLASH_LINE | SLASH_BLOCK | TICK_CHAR | TRIPLE | QUALS, _JAVA_WORDS),
    "csharp": (
        SLASH_LINE | SLASH_BLOCK | PREPROCESSOR | TICK_CHAR | TRIPLE | QUALS,
        """abstract as base=super bool=primitive break byte=primitive case catch char=primitive
        checked class const continue decimal=primitive default delegate do double=primitive else
        enum event explicit extern false finally fixed float=primitive for foreach=for goto if
        implicit in int=primitive interface internal is lock long=primitive namespace new null
        object=primitive operator out override params private protected public readonly ref return
        sbyte=primitive sealed short=primitive sizeof stackalloc static string=primitive struct
        switch this=self throw true try typeof uint=primitive ulong=primitive unchecked unsafe
        ushort=primitive using virtual void=primitive volatile while ~async ~await ~get ~set ~var
        ~record ~global ~where ~partial=other ~yield=other ~nameof=other ~when=other""",
    ),
    "kotlin": (
        SLASH_LINE | SLASH_BLOCK | NESTED | TICK_CHAR | TRIPLE | QUALS | COLON_TYPE,
        """as break class continue do else false for fun=func if in interface is null object
        package return super this=self throw true try typealias=type typeof val var when=switch
        while ~import ~data ~enum ~abstract ~catch ~finally ~companion=other ~open=other
        ~override ~private ~protected ~public ~internal=other ~where ~by=other ~get ~set
        ~init=other ~constructor=other ~sealed=other ~inner=other ~lateinit=other ~suspend=other
        ~inline ~operator ~const ~vararg=other ~annotation=other""",
    ),
    "scala": (
        SLASH_LINE | SLASH_BLOCK | NESTED | TICK_CHAR | LIFETIME | TRIPLE | QUALS | COLON_TYPE,
        """abstract case catch class def do else extends false final finally for if implicit import
        lazy match=switch new null object override package private protected return sealed super
        this=self throw trait try true type val var while with yield ~given=other ~enum ~export
        ~then=other ~as ~using ~extension ~inline ~opaque=other""",
    ),
    "swift": (
        SLASH_LINE | SLASH_BLOCK | NESTED | TRIPLE | NO_SINGLE | QUALS | COLON_TYPE,
        """associatedtype=type class deinit enum extension fileprivate func import init inout
        internal let open operator private precedencegroup protocol public rethrows static struct
        subscript typealias=type var break case catch continue default defer do else fallthrough
        for guard if in repeat return throw switch where while as false is nil self=self Self=self
        super throws true try ~actor=class ~async ~await ~some=other ~any=other ~get ~set
        ~mutating=other ~override ~final ~weak=other ~lazy=other ~indirect=other ~convenience=other
        ~required=other ~willSet=other ~didSet=other""",
    ),
    "ruby": (
        HASH_LINE | REGEX | HEREDOC | PERCENT_LITERAL | QUALS,
        """BEGIN END alias and begin break case class def defined do else elsif=elif end ensure
        false for if in module next nil not or redo rescue retry return self=self super then true
        undef unless=if until=while when while yield __FILE__ __LINE__ ~require
        ~require_relative=require ~load=require ~autoload ~private ~protected ~public
        ~include ~extend=include ~raise ~attr_reader=accessor ~attr_writer=accessor
        ~attr_accessor=accessor""",
    ),
    "php": (
        SLASH_LINE | SLASH_BLOCK | HASH_LINE | HEREDOC | QUALS,
        """abstract and array=primitive as break callable=primitive case catch class clone const
        continue declare default do echo else elseif=elif empty endfor endforeach endif endswitch
        endwhile enum=enum extends final finally fn for foreach=for function global goto if
        implements include include_once=include instanceof insteadof interface isset list
        match=switch namespace new or print private protected public readonly require
        require_once=require return static switch throw trait try unset use var while xor yield
        true false null self=self parent=super ~this=self ~string=primitive ~int=primitive
        ~bool=primitive ~float=primitive ~mixed=primitive ~void=primitive""",
    ),
    "lua": (
        DASH_LINE | LONG_BRACKET | QUALS,
        """and break do else elseif=elif end false for function goto if in local nil not or repeat
        return then true until while ~require ~dofile=require ~self""",
    ),
    "elixir": (
        HASH_LINE | TRIPLE | QUALS,
        """after and catch do else end false fn in nil not or rescue true when ~alias ~import
        ~require ~use ~def ~defp=def ~defmodule ~defmacro=def ~defmacrop=def ~defstruct=struct
        ~defprotocol=protocol ~defimpl=impl ~case ~cond=switch ~if ~for ~with ~raise ~unless=if
        ~try ~quote=other ~unquote=other""",
    ),
    "haskell": (
        DASH_LINE | NEST_BRACE_DASH | TICK_CHAR | LIFETIME | QUALS,
        """case class data default deriving do else forall foreign if import in infix infixl infixr
        instance let module newtype=data of then type where ~as ~qualified ~hiding ~family=other
        ~pattern=other""",
    ),
    "bash": (
        HASH_LINE | HEREDOC,
        """if then else elif fi case esac for select while until do done in function time ~source
        ~local ~export ~readonly ~declare ~return ~echo=other ~exit=other ~set=other""",
    ),
    "zig": (
        SLASH_LINE | TICK_CHAR | QUALS | COLON_TYPE,
        """addrspace align allowzero and anyframe anytype asm async await break callconv catch
        comptime const continue defer else enum errdefer error export extern false fn for if inline
        linksection noalias noinline nosuspend null opaque or orelse packed pub resume return
        struct suspend switch test threadlocal true try undefined union unreachable
        usingnamespace=using var volatile while void=primitive bool=primitive u8=primitive
        usize=primitive""",
    ),
}

# Every other grammar: how its comments look. Words stay identifiers: no keywords are known.
_C_LIKE = SLASH_LINE | SLASH_BLOCK | QUALS
_COMMENTS: dict[int, str] = {
    _C_LIKE | TICK_CHAR: """actionscript apex arduino astro bicep cairo cuda d dart fsharp
        fsharp_signature glsl gleam groovy hack hare haxe hlsl ispc jsonnet kdl magik netlinx nqc
        objc odin pony prisma proto qmljs ron scss smithy solidity squirrel tablegen thrift typst v
        verilog wgsl capnp rego firrtl linkerscript bsl""",
    HASH_LINE: """beancount bitbake cmake dockerfile elm_ fish gdscript gn gitattributes gitignore
        gomod graphql hcl heex hyprlang janet julia kconfig make meson nim ninja nix perl po
        powershell properties puppet pymanifest r readline requirements rst starlark tcl terraform
        toml udev xcompose yaml sparql""",
    DASH_LINE | SLASH_BLOCK: "sql vhdl ada agda elm purescript luau",
    SEMI_LINE: """asm clojure commonlisp elisp fennel llvm racket scheme clarity yuck query wast wat
        smali ini""",
    PERCENT_LINE: "erlang matlab",
    PAREN_STAR: "ocaml ocaml_interface pascal",
}
# Prose and data: words only.
_PLAIN = """text bibtex chatito comment cobol cpon css_ csv doxygen dtd embeddedtemplate gitcommit
gosum gstlaunch html jsdoc json latex luadoc luap markdown markdown_inline mermaid org pem pgn
printf psv qmldir re2c test tsv twig ungrammar uxntal vim xml fortran func"""

_PREPROCESSED = {"objc", "cuda", "arduino", "ispc", "glsl", "hlsl"}


def _keywords(words: str) -> dict[bytes, int]:
    found = {}
    for word in words.split():
        soft = SOFT if word.startswith("~") else 0
        name, _, meaning = word.removeprefix("~").partition("=")
        found[name.encode()] = MEANINGS.get(meaning or name, MEANINGS["other"]) | soft
    return found


def _others() -> dict[str, int]:
    table = {name: traits for traits, names in _COMMENTS.items() for name in names.split()}
    table |= dict.fromkeys(_PLAIN.split(), MARKUP)
    table |= {name: table[name] | PREPROCESSOR for name in _PREPROCESSED}
    return table


_OTHERS = _others()


def lexing(name: str) -> tuple[int, dict[bytes, int]]:
    """Traits and keywords of a language, by its name in the language table.

    A language that nobody described has C's comments if any: words in quotes, no keywords.
    """
    if name in _TABLE:
        traits, words = _TABLE[name]
        return traits, _keywords(words)
    return _OTHERS.get(name, NO_SINGLE | QUALS), {}
