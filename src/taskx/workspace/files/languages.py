"""Which language a file is in: by its name, its extension, its first line.

`LANGUAGES` is the one table: a language's id is its index there, and ids are stored in indexes on
disk, so rows are only ever added at the end (`TABLE_VERSION` grows with every change). Importing
this module loads no grammar; `grammar_capsule` loads one when it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

# 1: twenty languages with rules of their own, then every other grammar of the pack.
TABLE_VERSION = 1


class Language(NamedTuple):
    """One row. `id` is the index in LANGUAGES; `family` groups languages that import each other."""

    id: int
    name: str
    grammar: str
    extensions: tuple[str, ...]
    filenames: tuple[str, ...]
    interpreters: tuple[str, ...]
    family: str


# name | extensions | file names | interpreters of `#!` | family (the name, where empty).
# The grammar has the language's name. An indented line goes on with the row above it.
_ROWS = """
python|py pyi pyw pyx pxd pxi py3 gyp wsgi|SConstruct SConscript Sconscript wscript BUCK|python
  python2 python3 pypy pypy3 uv|
typescript|ts mts cts||deno ts-node tsx bun|javascript
tsx|tsx|||javascript
javascript|js mjs cjs jsx es6 jsm gs pac|Jakefile|node nodejs qjs rhino|javascript
go|go||gorun|
rust|rs||rust-script cargo|
c|c h idc cl||tcc|c
cpp|cpp cc cxx c++ hpp hh hxx h++ ipp inl tpp txx ixx cppm ino cu cuh C H|||c
java|java jav jsh||jshell|
csharp|cs csx cake||dotnet-script|
kotlin|kt kts ktm||kotlin|
scala|scala sc sbt||scala amm scala-cli|
swift|swift||swift|
ruby|rb rbw rake gemspec ru podspec jbuilder thor rabl arb prawn|Rakefile Gemfile Vagrantfile
  Guardfile Capfile Podfile Brewfile Fastfile Appfile Dangerfile Thorfile Berksfile Steepfile
  .irbrc .pryrc|ruby jruby macruby rake|
php|php php3 php4 php5 phtml phps phpt ctp||php|
lua|lua wlua rockspec nse pd_lua p8|.luacheckrc|lua luajit texlua|
elixir|ex exs|mix.lock|elixir|
haskell|hs hs-boot hsc||runhaskell runghc stack|
bash|sh bash ksh zsh bats ebuild eclass command|.bashrc .bash_profile .bash_aliases .bash_logout
  .profile .zshrc .zprofile .zshenv .kshrc PKGBUILD APKBUILD bashrc zshrc|sh bash dash ksh mksh
  zsh ash rc bats|
zig|zig zon||zig|
actionscript|as|||
ada|adb ads ada|||
agda|agda|||
apex|cls apex trigger|||
arduino||||c
asm|asm nasm s S a51||as nasm|
astro|astro|||javascript
beancount|beancount bean|||
bibtex|bib|||
bicep|bicep bicepparam|||
bitbake|bb bbappend bbclass|||
bsl|bsl os|||
cairo|cairo|||
capnp|capnp|||
chatito|chatito|||
clarity|clar|||
clojure|clj cljs cljc cljr cljd edn||bb clojure|
cmake|cmake|CMakeLists.txt||
cobol|cob cbl cobol cpy|||
comment||||
commonlisp|lisp lsp asd||sbcl clisp ccl ecl|
cpon|cpon|||
css|css pcss|||
csv|csv|||
cuda||||c
d|d di||rdmd dmd|
dart|dart||dart|
dockerfile|dockerfile containerfile|Dockerfile Containerfile||
doxygen||||
dtd|dtd ent|||
elisp|el|.emacs Cask|emacs|
elm|elm|||
embeddedtemplate|erb ejs eex rhtml|||
erlang|erl hrl escript app.src xrl yrl|rebar.config rebar.lock|escript|
fennel|fnl||fennel|
firrtl|fir|||
fish|fish||fish|
fortran|f f77 f90 f95 f03 f08 for fpp F F77 F90 F95 F03 F08 FOR|||
fsharp|fs fsx fsscript||fsharpi|
fsharp_signature|fsi|||fsharp
func|fc func|||
gdscript|gd|||
gitattributes|gitattributes|.gitattributes||
gitcommit||COMMIT_EDITMSG MERGE_MSG TAG_EDITMSG||
gitignore|gitignore|.gitignore .dockerignore .npmignore .eslintignore .prettierignore .taskxignore
  .ignore .rgignore .hgignore .gcloudignore .vscodeignore .stylelintignore||
gleam|gleam|||
glsl|glsl vert frag geom tesc tese comp vs fsh vsh shader rgen rchit rmiss|||
gn|gn gni|||
gomod||go.mod go.work||go
gosum||go.sum go.work.sum||go
graphql|graphql gql graphqls|||
groovy|groovy gvy grt gradle nf|Jenkinsfile|groovy nextflow|
gstlaunch||||
hack|hack hhi|||
hare|ha|||
haxe|hx hxsl|||
hcl|hcl nomad|||terraform
heex|heex leex|||
hlsl|hlsl hlsli fx fxh cginc usf ush|||
html|html htm xhtml xht|||
hyprlang||hyprland.conf hyprpaper.conf hypridle.conf hyprlock.conf||
ini|ini cfg desktop service socket timer mount target prefs lektorproject|.editorconfig .gitconfig
  .pylintrc .flake8 .npmrc .coveragerc||
ispc|ispc isph|||c
janet|janet jdn||janet|
jsdoc||||
json|json json5 jsonc geojson webmanifest jsonl ndjson ipynb har topojson code-workspace avsc
  tfstate sublime-project sublime-settings|.babelrc .eslintrc .prettierrc .swcrc .watchmanconfig
  composer.lock Pipfile.lock flake.lock .jshintrc .jscsrc||
jsonnet|jsonnet libsonnet|||
julia|jl||julia|
kconfig||Kconfig Kconfig.debug||
kdl|kdl|||
latex|tex sty ltx dtx ins ltxclass|||
linkerscript|ld lds ldscript|||
llvm|ll|||
luadoc||||
luap||||
luau|luau|||lua
magik|magik|||
make|mk mak make|Makefile makefile GNUmakefile Kbuild Makefile.am Makefile.in BSDmakefile|make|
markdown|md markdown mkd mkdn mdown mdx mdc livemd ronn|.windsurfrules .clinerules .cursorrules||
markdown_inline||||
matlab|matlab||octave|
mermaid|mmd mermaid|||
meson||meson.build meson_options.txt meson.options||
netlinx|axs axi|||
nim|nim nims nimble|nim.cfg||
ninja|ninja|||
nix|nix||nix-shell|
nqc|nqc|||
objc|m mm|||c
ocaml|ml mll mly eliom||ocaml ocamlrun ocamlscript|
ocaml_interface|mli eliomi|||ocaml
odin|odin|||
org|org|||
pascal|pas dpr lpr dpk|||
pem|pem crt cer key csr|||
perl|pl pm t plx psgi perl ph xs|Makefile.PL cpanfile Rexfile|perl|
pgn|pgn|||
po|po pot|||
pony|pony|||
powershell|ps1 psm1 psd1||pwsh powershell|
printf||||
prisma|prisma|||
properties|properties|||
proto|proto|||
psv|psv|||
puppet|pp epp|||
purescript|purs|||
pymanifest||MANIFEST.in||
qmldir||qmldir||
qmljs|qml qbs|||javascript
query|scm|||
r|r R rd rsx Rprofile|.Rprofile|Rscript r|
racket|rkt rktd rktl scrbl||racket|
re2c|re|||
readline||.inputrc inputrc||
rego|rego|||
requirements||requirements.txt requirements-dev.txt requirements-test.txt dev-requirements.txt
  constraints.txt||
ron|ron|||
rst|rst rest|||
scheme|ss sld sls sps||guile scheme chibi-scheme gosh csi|
scss|scss|||css
smali|smali|||
smithy|smithy|||
solidity|sol|||
sparql|sparql rq|||
sql|sql ddl dml psql mysql pgsql plsql|||
squirrel|nut|||
starlark|bzl star bazel sky|BUILD WORKSPACE MODULE.bazel Tiltfile BUCK.v2||
svelte|svelte|||javascript
tablegen|td|||
tcl|tcl tk adp tm itcl exp||tclsh wish expect|
terraform|tf tfvars|||
test||||
thrift|thrift|||
toml|toml|Cargo.lock poetry.lock uv.lock Pipfile pdm.lock Gopkg.lock||
tsv|tsv|||
twig|twig|||
typst|typ|||
udev|rules|||
ungrammar|ungram|||
uxntal|tal|||
v|vv||v|
verilog|v sv svh vh vlg veo|||
vhdl|vhd vhdl vho vht vhf vhi|||
vim|vim vimrc|.vimrc _vimrc vimrc .gvimrc gvimrc .exrc||
vue|vue|||javascript
wast|wast|||
wat|wat|||
wgsl|wgsl|||
xcompose||.XCompose XCompose||
xml|xml launch xsd xsl xslt svg rss atom plist wsdl xaml csproj fsproj vbproj props targets resx
  nuspec xul kml gpx xmi storyboard xib iml rng jelly dtproj vcxproj filters sln.xml pom|||
yaml|yaml yml clang-format clang-tidy syntax reek sublime-syntax|.clang-format .clang-tidy .clangd
  .gemrc .prettierrc.yaml CITATION.cff pixi.lock pubspec.lock yarn.lock||
yuck|yuck|||
"""


def _read_rows() -> tuple[Language, ...]:
    languages = [Language(0, "text", "", (), (), (), "")]
    for row in _ROWS.strip().replace("\n  ", " ").splitlines():
        name, extensions, filenames, interpreters, family = row.split("|")
        languages.append(
            Language(
                len(languages),
                name,
                name,
                tuple(extensions.split()),
                tuple(filenames.split()),
                tuple(interpreters.split()),
                family or name,
            )
        )
    return tuple(languages)


LANGUAGES = _read_rows()
IDS: Mapping[str, int] = {language.name: language.id for language in LANGUAGES}


BY_EXTENSION: Mapping[str, int] = {
    word: language.id for language in LANGUAGES for word in language.extensions
}
BY_FILENAME: Mapping[str, int] = {
    word: language.id for language in LANGUAGES for word in language.filenames
}
BY_INTERPRETER: Mapping[str, int] = {
    word: language.id for language in LANGUAGES for word in language.interpreters
}

C_ID = IDS["c"]
CPP_ID = IDS["cpp"]
# A `.h` belongs to C unless the sources around it are C++ (`scan.languages_of`, `header_id`).

# How much of a file `detect` and `header_id` want to see: a shebang line, the top of a header.
HEAD_BYTES = 4096

_SHEBANG = re.compile(rb"#![ \t]*(\S+)[ \t]*([^\r\n]*)")
_C_COMMENT = re.compile(rb"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_CPP_HEADER = re.compile(
    rb"^[ \t]*(?:namespace\s+\w|template\s*<|class\s+\w+[^;]*$|(?:public|private|protected)\s*:"
    rb"|using\s+\w|constexpr\s|#[ \t]*include[ \t]*<(?:[a-z_]+|.*\.(?:hpp|hh))>)",
    re.MULTILINE,
)


def detect(path: str | bytes, head: bytes = b"") -> int:
    """Language id of a file: whole name, then extension (the longest first), then `#!` line.

    path: any path, `/` separated. head: the file's first bytes, looked at only when its name says
    nothing. A `.h` is taken for C here. 0 when unknown.
    """
    if isinstance(path, bytes):
        path = path.decode("utf-8", "surrogateescape")
    name = path[path.rfind("/") + 1 :]
    found = BY_FILENAME.get(name)
    if found is not None:
        return found
    dot = name.find(".", 1)
    while dot != -1:
        extension = name[dot + 1 :]
        found = BY_EXTENSION.get(extension) or BY_EXTENSION.get(extension.lower())
        if found:
            return found
        dot = name.find(".", dot + 1)
    base = name[: name.find(".", 1)] if "." in name[1:] else name
    # Dockerfile.dev, Makefile.linux, Kconfig.cpu: the kind is in front of the dot.
    if base != name and base in KINDS_IN_FRONT:
        return BY_FILENAME[base]
    return shebang_id(head) if head.startswith(b"#!") else 0


KINDS_IN_FRONT = frozenset(
    {"Dockerfile", "Containerfile", "Makefile", "Kconfig", "Jenkinsfile", "Kbuild"}
)


def shebang_id(head: bytes) -> int:
    """Language id that a `#!` line names, through `env` and version suffixes; 0 for none."""
    match = _SHEBANG.match(head)
    if match is None:
        return 0
    words = [match[1].rsplit(b"/", 1)[-1], *match[2].split()]
    if words[0] == b"env":
        words = [w for w in words[1:] if not w.startswith(b"-") and b"=" not in w]
    if not words:
        return 0
    name = words[0].rsplit(b"/", 1)[-1].decode("ascii", "replace")
    return BY_INTERPRETER.get(name) or BY_INTERPRETER.get(name.rstrip("0123456789.-"), 0)


def header_id(head: bytes) -> int:
    """C or C++ for a `.h` by what its top says, where the files around it do not tell."""
    code = _C_COMMENT.sub(b" ", head[:HEAD_BYTES])
    return CPP_ID if _CPP_HEADER.search(code) else C_ID


def grammar_capsule(language_id: int) -> object | None:
    """The grammar's `tree_sitter.Language` capsule, loaded now; None for plain text.

    Raises LookupError when the installed language pack has no such grammar.
    """
    grammar = LANGUAGES[language_id].grammar
    if not grammar:
        return None
    # Slow to import, and needed by the threads that parse alone.
    from tree_sitter_language_pack import get_binding

    capsule: object = get_binding(grammar)  # type: ignore[arg-type]
    return capsule
