"""What compilers, linkers and build systems report."""
# ruff: noqa: E501, RUF001 - a pattern stays on its line, in the script its tool prints

from __future__ import annotations

from .idioms import COLON, ERROR, NONZERO, SPOT
from .rule import BUILD, VERDICT, Rule

BUILDS: tuple[Rule, ...] = (
    Rule(
        "missing header",
        BUILD,
        rf"{SPOT}:? ?{ERROR}{COLON}(?P<what>[^\s:]+\.(?:h|hh|hpp|hxx|inc))[:：]? ",
        VERDICT,
        hint="install the package that ships `{what}`, or add its folder to the include path",
    ),
    Rule(
        "linker",
        BUILD,
        r"undefined reference to|[Uu]ndefined symbols? for|undefined symbol:|cannot find -l\S+|collect2: \S+ ld returned"
        r"|collect2: |linker command failed|multiple definition of|referência não definida"
        r"|Nicht definierter Verweis|référence indéfinie|referencia a .* sin definir"
        r"|对.*未定义的引用|に対する定義されていない参照",
    ),
    Rule("compiler", BUILD, rf"{SPOT}:? ?{ERROR}(?: \w+)?{COLON}", VERDICT),
    Rule("rustc", BUILD, r"^error(?:\[E\d+\])?: ", VERDICT, beside=r"^\s*--> \S+\.rs:\d+:\d+"),
    Rule("cargo", BUILD, r"^error: could not compile |^error: aborting due to", VERDICT),
    Rule("rustc code", BUILD, r"^(?i:error)\[[Ee]\d+\]:"),
    Rule("typescript", BUILD, r"\berror TS\d{4,5}: |^TS\d{4,5}: ", VERDICT),
    Rule("typescript count", BUILD, rf"^Found {NONZERO} errors? in (?:\d+ files|\S+:\d+)", VERDICT),
    Rule("clang count", BUILD, rf"^(?:\d+ warnings? and )?{NONZERO} errors? generated\.$", VERDICT),
    Rule(
        "javac count",
        BUILD,
        rf"^{NONZERO} (?:errors?|Fehler|erros?|erreurs?)$",
        beside=r"\.java:\d+",
    ),
    Rule("cmake", BUILD, r"^CMake Error\b|^-- Configuring incomplete, errors", VERDICT),
    Rule("autoconf", BUILD, r"^configure: error: ", VERDICT),
    Rule(
        "ninja",
        BUILD,
        r"^FAILED: \S+|^ninja: build stopped|^ninja: error: (?!unknown)",
        VERDICT,
        beside=r"^ninja: ",
    ),
    Rule(
        "maven",
        BUILD,
        r"^\[ERROR\] COMPILATION ERROR|^\[ERROR\] \S+\.(?:java|kt|scala):\[\d+"
        r"|^\[ERROR\] Failed to execute goal|^\[INFO\] BUILD FAILURE|^BUILD FAILED",
        VERDICT,
    ),
    Rule("gradle", BUILD, r"^FAILURE: Build (?:failed|completed with)|^> Task \S+ FAILED", VERDICT),
    Rule("dotnet or msvc", BUILD, r"\berror (?:CS|C|LNK|MSB|NU|FS|BC)\d{4}\b: ?", VERDICT),
    Rule(
        "go build",
        BUILD,
        r"^(?:\./)?\S+\.go:\d+:\d+: (?:undefined:|.*(?:imported and not used|declared and not used"
        r"|cannot use|missing return|not enough|too many|no required module|is not in std|cannot find package)"
        r"|invalid operation|assignment mismatch|.* redeclared|undefined|unknown field|.*undefined)"
        r"|^(?:go: )?.*no required module provides package|^package \S+ is not in (?:std|GOROOT)",
    ),
    Rule("go build package", BUILD, r"^(?:\./)?\S+\.go:\d+:\d+: ", beside=r"^# [\w./-]+(?: \[|$)"),
    Rule(
        "bundler",
        BUILD,
        r"^(?:ERROR in |Module not found: |\[vite\].*error|error during build:|✘ \[ERROR\]"
        r"|Failed to compile\.?$|Build failed with \d+ error|webpack .*compiled with \d+ error)",
    ),
    Rule(
        "dependency conflict",
        BUILD,
        r"^npm (?:ERR!|error) (?:code )?ERESOLVE|^ERROR: ResolutionImpossible|^ERROR: Cannot install .*conflict"
        r"|failed to select a version for|^error: no matching package named",
    ),
    Rule(
        "python wheel",
        BUILD,
        r"^\s*error: subprocess-exited-with-error|^ERROR: Failed building wheel",
    ),
    Rule("docker build", BUILD, r"^ERROR: failed to (?:solve|build)|^failed to solve:", VERDICT),
)
