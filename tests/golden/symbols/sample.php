<p>Don't class Text {</p>
<?php
namespace App\Core;

use Lib\Thing as Other;
use Lib\{One, Two as Zwei};
use function Lib\helper;
require_once __DIR__ . '/own.php';

#[Attribute]
abstract class Shape extends Base implements Draw
{
    use Mixin;
    const LIMIT = 3;
    public int $sides = 4;
    public function __construct(private int $n) {}
    abstract function area(): int;
    public static function make(): static { return new static("}"); }
}
interface Draw { function draw(); }
trait Mixin { function mixed() {} }
enum Color: string { case Red = 'r'; public function label() {} }
function top($x) {
    $text = <<<EOT
    function not_this() {
    EOT;
    return fn($y) => $y;
}
const GLOBAL_ONE = 1;
