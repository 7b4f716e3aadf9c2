"""Words that questions and code do not share: general programming vocabulary, fitted to no tree.

`SYNONYMS` joins words that programmers use for the same thing. `GERMAN` and `CHINESE` give the
English programming word for a word of a question in those languages. `SILENT` words say nothing
about what is looked for; `FAINT` ones only what kind of thing.
"""

from __future__ import annotations

from functools import cache

from taskx._native import terms

SILENT = frozenset(
    b"""a about actually after all along also although an and another any are around as at be
    because been before being between both but by can could did do does doing done down during each
    either else etc every few for from gets got had happen happens has have having he her here him
    his how i if in into is it its itself just kind let like many may me might more most much must
    my near need needs no nor not now of off on once one only onto or other our out over own per
    please same she should show so some such than that the their them then there these they this
    those through to too under until up us via want was we were what when where whether which while
    who whom whose why will with within without would yet you your
    aber als am an auch auf aus bei beim bin bis da dann das dass dem den der des die dies diese
    dieser dieses doch durch ein eine einem einen einer eines er es etwas fur gegen gibt hat hier
    ich ihr im ist ja jede kann kein keine mein mit nach nicht noch nur ob oder ohne sein sich sie
    sind so soll uber um und uns unter vom von vor wann warum was wenn wer werden wie wieso wird wo
    wohin woher wurde zu zum zur zwischen""".split()
)
FAINT = frozenset(
    b"""class classes code codebase core create define defined definition file files find function
    functions get handle handled handles handling implement implementation implemented implementing
    implements located logic main make makes method methods provide provides support supports use
    used uses using work working works""".split()
)
PREPOSITIONS = frozenset(
    b"""across at between by during for from in into of on onto through to using via when with
    without""".split()
)

GERMAN_MARKS = frozenset(
    b"""auf aus bei beim das dem den der ein eine einen einer fur ist mit nach nicht und von
    warum welche welcher welches wer werden wie wird wo woher zum zur""".split()
)
"""Words that mark a German question; none is an English one."""

SYNONYMS = """
auth authentication authenticate authorization authorize login credential credentials signin
config configuration configure setting settings option options conf cfg preference
error err exception failure fail fault
parse parser decode deserialize unmarshal
serialize encode marshal dump stringify
async asynchronous asynchronously concurrent concurrency coroutine await
connection connect conn
request req
response resp reply res
message msg
parameter param params argument arg args
init initialize initialization setup startup start boot bootstrap
cleanup teardown close shutdown dispose destroy stop
delete remove erase drop unlink
create new build make construct
search find lookup query
get fetch retrieve load
store save persist persistence write
directory dir folder
database db
document doc documentation
environment env
execute exec run invoke call
initial init
length len size
temporary temp tmp
variable var
validate verify check validation
compare cmp comparison
source src
string str
object obj
number num numeric
buffer buf
pointer ptr
context ctx
command cmd
process proc
utility util utils helper helpers
synchronization sync mutex lock
expire ttl expiration
subscribe listener listen observer observe subscriber watch
notify notification emit publish
middleware interceptor
websocket ws
url uri
certificate cert tls ssl
compression compress gzip deflate zlib
log logger logging
retry backoff
timeout deadline
route router routing
template render view
upload multipart
integer int
boolean bool
character char
replica slave
master primary
type typing types
infer inference
namespace module package
dependency dependencies deps
authorization permission access
encrypt encryption cipher crypto
statistics stats
information info
administrator admin
repository repo
iterate loop each
iterator iter
sequence seq
list array vector
map dict dictionary hash table
concatenate join concat append
split separate
random rand
average mean avg
maximum max
minimum min
previous prev
position pos
image img
button btn
window win
address addr
memory mem alloc allocate allocator
hardware hw
interrupt irq
register reg
kernel core
calculate compute calc
language lang locale
internationalization i18n localization l10n translation
accessibility a11y
kubernetes k8s
application app
server srv
generator generate gen
specification spec
test spec testing
mock stub fake
benchmark bench
synchronous sync
periodic interval
schedule scheduler cron
background daemon worker
thread threads
cursor caret
delimiter separator
identifier id ident
extension ext plugin addon
abstract base
middleware handler
redirect location
header headers
property prop attribute attr field
event hook callback
snapshot backup dump
recover restore
duplicate copy clone
rename move
equal eq equality
transform convert conversion translate
"""

GERMAN = """
abfrage=query abhangigkeit=dependency adresse=address andern=change anfrage=request
anmeldung=login,authentication anmelden=login ansicht=view antwort=response anweisung=statement
anwendung=application anzeige=display anzahl=count argument=argument aufgabe=task aufruf=call
aufrufen=call ausfuhren=execute ausgabe=output ausnahme=exception auswahl=select baum=tree
bearbeiten=edit beenden=stop,exit befehl=command benachrichtigung=notification benutzer=user
berechtigung=permission berechnen=compute bild=image datei=file daten=data datenbank=database
datum=date drucken=print eingabe=input einfugen=insert einstellung=setting,config eintrag=entry
element=element empfangen=receive entfernen=remove entschlusseln=decrypt ereignis=event
ersetzen=replace erstellen=create erweiterung=extension,plugin farbe=color fehler=error
fehlermeldung=error feld=field fenster=window filtern=filter finden=find formular=form
format=format funktion=function grosse=size gruppe=group herunterladen=download hinzufugen=add
hochladen=upload index=index inhalt=content kanal=channel kante=edge klasse=class knoten=node
kodierung=encoding komprimierung=compression konfiguration=configuration kopfzeile=header
kopieren=copy laden=load lange=length lesen=read liste=list loschen=delete meldung=message
methode=method modell=model modul=module nachricht=message name=name netzwerk=network
objekt=object offnen=open ordner=directory paket=package parameter=parameter passwort=password
pfad=path protokoll=log,protocol protokollierung=logging prozess=process prufen=check,validate
puffer=buffer rechte=permission reihenfolge=order ruckgabe=return schliessen=close schlussel=key
schnittstelle=interface schreiben=write seite=page senden=send server=server signatur=signature
sitzung=session sortieren=sort spalte=column speicher=memory,storage speichern=save sperre=lock
sprache=language starten=start statisch=static suche=search suchen=search tabelle=table teil=part
test=test text=text transaktion=transaction typ=type uberprufen=validate ubersetzung=translation
umbenennen=rename umgebung=environment umleitung=redirect unterbrechung=interrupt
validierung=validation variable=variable verarbeitung=process verarbeiten=process
verbindung=connection vergleichen=compare verschieben=move verschlusselung=encryption
verteilen=dispatch verwaltung=manage verwalten=manage verzeichnis=directory vorlage=template
warteschlange=queue weiterleitung=redirect wert=value wiederholen=retry wurzel=root zahl=number
zeichen=character zeichenkette=string zeile=line,row zeit=time zeitplan=schedule
zeituberschreitung=timeout zugriff=access zustand=state zwischenspeicher=cache
"""

CHINESE = """
错误=error 异常=exception 配置=config 设置=settings 请求=request 响应=response 路由=route
认证=authentication 登录=login 登陆=login 授权=authorization 权限=permission 用户=user
密码=password 数据=data 数据库=database 查询=query 缓存=cache 文件=file 目录=directory 路径=path
上传=upload 下载=download 连接=connection 连接池=connection,pool 线程=thread 进程=process
队列=queue 消息=message 事件=event 日志=log 测试=test 模板=template 视图=view 模型=model 表单=form
字段=field 验证=validate 校验=validate 序列化=serialize 反序列化=deserialize 解析=parse
解析器=parser 编码=encode 解码=decode 加密=encrypt 解密=decrypt 压缩=compress 会话=session
中间件=middleware 重定向=redirect 超时=timeout 重试=retry 异步=async 同步=sync 锁=lock 信号=signal
信号量=semaphore 迁移=migration 命令=command 执行=execute 启动=start 停止=stop 关闭=close
打开=open 创建=create 删除=delete 更新=update 插入=insert 保存=save 读取=read 写入=write 发送=send
接收=receive 搜索=search 排序=sort 过滤=filter 索引=index 列表=list 字典=dict 字符串=string
数字=number 整数=integer 函数=function 方法=method 接口=interface 模块=module 依赖=dependency
变量=variable 参数=parameter 返回=return 内存=memory 分配=allocate 调度=schedule 任务=task
定时=timer 时间=time 日期=date 国际化=internationalization 翻译=translation 静态=static 页面=page
分页=paginate 邮件=mail 管理=manage 头部=header 表=table 事务=transaction 回滚=rollback
网络=network 套接字=socket 地址=address 渲染=render 组件=component 状态=state 主机=host 端口=port
服务器=server 客户端=client 版本=version 图片=image 链接=link 令牌=token 跨站=csrf 哈希=hash
树=tree 节点=node 堆=heap 栈=stack 指针=pointer 中断=interrupt 驱动=driver 内核=kernel
系统调用=syscall 文件系统=filesystem 虚拟=virtual 类=class 包=package 流=stream 转换=convert
比较=compare 复制=copy 签名=signature 属性=attribute 实例=instance 继承=inherit 装饰器=decorator
注册=register 分发=dispatch 处理=handle 匹配=match 缓冲=buffer 格式=format 打印=print
回调=callback
"""

GERMAN_ENDINGS = ("", "en", "n", "e", "er", "es", "s", "em", "ern", "te", "t")


@cache
def synonyms() -> dict[bytes, tuple[bytes, ...]]:
    """Stem -> stems that may stand for it, in a fixed order."""
    found: dict[bytes, dict[bytes, None]] = {}
    for line in SYNONYMS.strip().splitlines():
        group = [terms.word_terms(word.encode())[-1] for word in line.split()]
        for first in group:
            others = found.setdefault(first, {})
            others.update((second, None) for second in group if second != first)
    return {first: tuple(others) for first, others in found.items()}


@cache
def german() -> dict[str, list[bytes]]:
    pairs = (entry.split("=") for entry in GERMAN.split())
    return {word: [w.encode() for w in english.split(",")] for word, english in pairs}


@cache
def chinese() -> dict[str, list[bytes]]:
    pairs = (entry.split("=") for entry in CHINESE.split())
    return {word: [w.encode() for w in english.split(",")] for word, english in pairs}


FOLDED = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"})


def from_german(word: str) -> list[bytes]:
    """English programming words for a German word, or for the parts of a compound."""
    table = german()
    folded = word.lower().translate(FOLDED)
    for candidate in (folded, folded.replace("ae", "a").replace("oe", "o").replace("ue", "u")):
        if (found := german_form(candidate, table)) is not None:
            return found
        for cut in range(len(candidate) - 3, 3, -1):
            first, rest = candidate[:cut], candidate[cut:]
            left = german_form(first, table)
            if left is None:
                continue
            right = german_form(rest, table) or german_form(rest.removeprefix("s"), table)
            if right is not None:
                return [*left, *right]
    return []


def german_form(word: str, table: dict[str, list[bytes]]) -> list[bytes] | None:
    for ending in GERMAN_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            base = word[: len(word) - len(ending)]
            for form in (base, base + "e", base + "en"):
                if form in table:
                    return table[form]
    return None


def from_chinese(run: str) -> list[bytes]:
    """English programming words in a run of Han characters, longest match first."""
    table = chinese()
    found: list[bytes] = []
    at = 0
    while at < len(run):
        for length in (4, 3, 2, 1):
            if words := table.get(run[at : at + length]):
                found.extend(words)
                at += length
                break
        else:
            at += 1
    return found
