"""Words by which pages give themselves away: the tables of phrases that `outcome` judges by.

They are held against text in lower case, of bounded length, with straight quotes and single spaces. What a
page `SAYS` is the whole of a title or heading, or of a part of it without the site's name; `PHRASES` are
searched for. In a table each line is an alternative (a backslash continues it), made of fixed words with
short bounded gaps, so that none of them backtracks far.
"""

# ruff: noqa: RUF001

import re
from typing import Final


def _one_of(lines: str) -> str:
    joined = re.sub(r"\\\n\s*", "", lines)
    return "|".join(line.strip() for line in joined.strip().splitlines())


def _any(lines: str) -> re.Pattern[str]:
    return re.compile(_one_of(lines))


# Walls.

WALL_SAYS: Final = _any(r"""
    (?:just (?:a|one) moment|one moment|please wait|please stand by)(?: please)?
    attention required!?(?: \| cloudflare)?
    (?:error )?(?:1020|1015|1010|1009|1006|1005)(?:\W{1,3}.{0,40})?
    (?:40[13]\W{1,3})?(?:access(?: to this (?:page|site|website|resource))?(?: (?:is|has been|was))? \
      (?:denied|forbidden|blocked|restricted)|forbidden)(?:\W{1,3}40[13])?
    pardon our interruption
    (?:are you|you are|you're|i'm|i am) (?:not )?(?:a )?(?:robot|human|bot)
    (?:robot|bot|human|browser|security|captcha|client|traffic|user) (?:check|verification|challenge\
      |checkpoint)(?: (?:required|needed|in progress))?
    (?:please )?(?:verify|confirm|prove)(?:ing)? (?:that )?(?:you(?:'re| are)|you) (?:a |not a )?(?:human\
      |robot|bot).{0,20}
    (?:please )?(?:complete|solve|enter) (?:the|this) (?:captcha|security check|challenge).{0,40}
    (?:we are |we're )?(?:checking|verifying) (?:your browser|if the site connection is secure).{0,40}
    making sure you(?:'re| are) not a bot
    captcha(?: (?:required|page|test))?
    ddos(?:-| )(?:guard|protection).{0,30}
    vercel security checkpoint
    (?:sorry, )?you have been blocked
    (?:your )?(?:request|ip|ip address|access|connection)(?: (?:has been|was|is))? (?:blocked|rejected\
      |banned)
    unusual (?:traffic|activity)(?: (?:detected|from your .{0,40}))?
    (?:too many requests|rate limit(?:ed| exceeded)|429)(?:\W{1,3}(?:too many requests|429))?
    (?:not available|unavailable) in your (?:country|region|location)
    (?:website|web application) firewall.{0,40}|sucuri website firewall.{0,40}
    (?:you are now in line|virtual waiting room|waiting room)
    (?:nur )?ein(?:en)? moment(?: bitte)?|bitte warten
    (?:der )?(?:zugriff|zugang)(?: wurde)? (?:verweigert|gesperrt|blockiert|nicht gestattet)
    sicherheits(?:überprüfung|prüfung|abfrage|kontrolle|check)
    (?:sind sie|bist du|ich bin) (?:ein|kein) (?:mensch|roboter)
    un instant|(?:veuillez patienter)|accès (?:refusé|interdit|bloqué)
    vérification (?:de sécurité|du navigateur)
    (?:êtes-vous|je ne suis pas|vous êtes) un (?:robot|humain)
    un momento(?: por favor)?|espere(?: un momento)?|acceso (?:denegado|bloqueado|restringido|prohibido)
    (?:comprobación|verificación) de (?:seguridad|robot|humano)|(?:¿)?eres (?:un )?(?:robot|humano)
    (?:só )?um momento(?: por favor)?|aguarde|acesso (?:negado|bloqueado|proibido)|verificação de segurança
    (?:ancora )?un attimo|accesso (?:negato|bloccato|vietato)|(?:controllo|verifica) di sicurezza
    een (?:ogenblik|moment)(?: geduld)?|toegang (?:geweigerd|geblokkeerd)
    beveiligings(?:controle|verificatie)
    chwileczkę|proszę czekać|odmowa dostępu|dostęp (?:zabroniony|zablokowany)|weryfikacja bezpieczeństwa
    bir (?:dakika|saniye)(?: lütfen)?|erişim (?:engellendi|reddedildi)|güvenlik (?:kontrolü|doğrulaması)
    robot musunuz
    один момент|подождите|доступ (?:запрещ[её]н|ограничен|заблокирован)|проверка (?:безопасности|браузера)
    (?:вы|я) не робот|подтвердите,? что (?:вы|запросы).{0,40}
    доступ (?:заборонено|обмежено)|зачекайте|تم رفض الوصول|الوصول مرفوض|لحظة(?: من فضلك)?|التحقق الأمني
    tunggu sebentar|akses ditolak|verifikasi keamanan|truy cập bị từ chối|xin chờ một chút
    しばらくお待ちください|少々お待ちください|アクセスが(?:拒否|制限)されました|アクセス拒否
    セキュリティ(?:チェック|確認)|ロボットではありません
    请稍候|請稍候|(?:百度)?安全(?:验证|驗證|检查|檢查)|(?:拒绝访问|访问(?:被拒绝|受限|被禁止))
    (?:人机|人機|滑动)(?:验证|驗證)|存取遭拒
    잠시만 기다(?:려 주세요|리십시오)|(?:접근|액세스)(?:이|가)? (?:거부|차단)(?:됨|되었습니다)?
    보안 (?:확인|검사)|로봇이 아닙니다
""")

# What only a wall says of itself.
WALL_PHRASES: Final = _any(r"""
    please enable js and disable any ad ?blocker
    the requested url was rejected\. please consult with your administrator
    incapsula incident id
    you don't have permission to access .{0,200}on this server.{0,20}reference #
    reference #\d{1,3}\.[0-9a-f]{6,}
    (?:unusual|suspicious|automated) (?:traffic|activity|requests?|queries|behaviou?r) (?:coming )?from \
      (?:your|this)
    (?:detected|noticed|identified|seeing) (?:an? )?(?:unusual|suspicious|automated|abnormal|non-human) \
      (?:traffic|activity|requests?|queries|behaviou?r|access)
    checking (?:your browser|if the site connection is secure)(?: before|\W)
    (?:needs|need) to review the security of your connection
    (?:please )?(?:verify|confirm|prove) (?:to us )?(?:that )?(?:you are|you're) (?:a |an )?(?:not a )?\
      (?:human|person|real|robot|bot)
    (?:make|making) sure (?:that )?you(?:'re| are) (?:not a (?:ro)?bot|(?:a )?human)
    (?:complete|solve|pass) (?:the|this|a) (?:captcha|security check|challenge|puzzle)(?: below| above)? \
      (?:to|before|and|in order)
    press (?:&|and) hold (?:the button |to )?(?:to )?(?:confirm|until|prove)
    (?:enter|type) the characters (?:you see|shown|in the image|below)
    sorry, you have been blocked|you are unable to access
    used a security service to protect itself
    your (?:access to this site has been limited|ip(?: address)? has been (?:temporarily )?(?:blocked\
      |banned|blacklisted))
    your (?:request|access|browser) (?:has been|was) (?:blocked|denied|flagged|identified|rejected|detected)
    (?:access|traffic) (?:has been|was|is) (?:blocked|denied|restricted) (?:by|because|due|from|for)
    something about your browser made us think you were a bot
    to discuss automated access
    (?:you have|you've) (?:made|sent) too many requests
    ray id: ?[0-9a-f]{12,}
    your support id is:? ?<?\d{6,}
    (?:javascript and cookies|cookies and javascript) (?:to continue|are required to continue)
    you are (?:now )?in (?:line|the queue)|your (?:estimated|expected) wait time
    before you continue to (?:google|youtube)
    (?:überprüf|bestätig)\w{0,5},? dass sie (?:ein mensch|kein roboter)
    ungewöhnlichen? (?:datenverkehr|aktivität)
    (?:vérifi|confirm)\w{0,5} que vous (?:êtes (?:bien )?(?:un )?(?:être )?humain|n'êtes pas un robot)
    trafic inhabituel
    (?:verific|confirm|comprob)\w{0,5} que (?:eres|es) (?:un )?(?:ser )?humano|no eres un robot
    tráfico inusual
    (?:verifi|confirm)\w{0,5} (?:que|se) (?:você é|é) (?:um )?(?:ser )?humano|não é um robô|tráfego incomum
    (?:verific|conferm)\w{0,5} (?:di essere|che sei) (?:un )?(?:essere )?uman|non sei un robot
    traffico insolito
    (?:verifieer|bevestig|controleer)\w{0,3} dat (?:u|je) (?:een mens|geen robot)
    запросы.{0,60}похожи на автоматические|подозрительн\w{1,4} (?:трафик|активность)
    что вы (?:не робот|человек)
    あなたが(?:人間|ロボットでない)|通常と異なるトラフィック|异常(?:流量|访问|请求)
    您的(?:访问|请求|ip).{0,20}(?:拦截|阻断|封禁)|请完成(?:安全)?验证
    사람인지 확인|비정상적인 (?:트래픽|접근|활동)
""")

# Missing pages.

_NO_PAGE: Final = _one_of(r"""
    (?:(?:the|this|that|your|requested|web|sorry) ?,? ?){0,3}(?:page|file|url|document|article|resource\
      |content|site|post)(?: (?:you (?:requested|are looking for|were looking for)|requested))?,? (?:(?:was \
      |is )?not found|(?:can(?:no|')t|could ?n(?:o|')t|could not) be found|does(?: not|n't) exist\
      (?: anymore)?|no longer exists|is missing|(?:is(?:n't| not)|no longer) available|is unavailable|has \
      (?:been removed|gone missing))
    (?:sorry,? )?we (?:can't|cannot|can not|couldn't|could not) find (?:that|the|this|your) page.{0,40}
    (?:this|the|that) (?:job|listing|item|product|ad|posting|offer|event|video|story|recipe|property\
      |vacancy) (?:is no longer available|has expired|no longer exists|could not be found|was not found)
    (?:page|file|content) (?:missing|gone|removed)
    (?:die |diese |angeforderte |gesuchte |aufgerufene ){0,2}seite (?:(?:wurde |konnte )?\
      (?:leider )?nicht gefunden(?: werden)?|existiert (?:leider )?nicht(?: mehr)?|nicht vorhanden\
      |ist nicht (?:mehr )?(?:verfügbar|erreichbar))
    (?:la |cette )?page (?:demandée |recherchée )?(?:non trouvée|introuvable|inexistante|n'existe (?:pas\
      |plus)|est introuvable|n'a pas été trouvée)
    (?:la |esta )?página (?:solicitada |que buscas )?(?:no (?:encontrada|existe|disponible|se encuentra\
      |fue encontrada)|no se ha encontrado)
    no (?:se )?(?:encontramos|ha encontrado|encontró|se encontró) (?:la|esta) página
    (?:a |esta )?página (?:solicitada )?não (?:foi )?(?:encontrada|existe|disponível)
    (?:la )?pagina (?:richiesta |cercata )?(?:non (?:è stata )?(?:trovata|esiste|disponibile)\
      |nu a fost găsită|niet gevonden)
    (?:de )?pagina (?:is |kon |werd )?niet (?:gevonden|beschikbaar)(?: worden)?
    (?:deze )?pagina bestaat niet(?: meer)?
    (?:nie znaleziono (?:takiej )?strony|strona (?:nie (?:istnieje|została (?:znaleziona|odnaleziona))\
      |nie znaleziona))
    sidan (?:kunde inte hittas|hittades inte|finns inte(?: längre)?|saknas)
    side[nr]? (?:blev )?ikke (?:fundet|funnet)|siden (?:findes|finnes) ikke|siden ble ikke funnet
    sivua ei (?:löydy|löytynyt)
    stránka (?:nenalezena|nebyla nalezena|neexistuje|nebola nájdená)|az oldal nem található
    (?:η )?σελίδα δεν (?:βρέθηκε|υπάρχει)
    (?:aradığınız )?sayfa bulunamadı
    (?:запрашиваемая |такая )?страница не (?:найдена|существует)|страницы не существует|сторінку не знайдено
    (?:お探しの|ご指定の)?ページ(?:が|は)(?:見つかりません(?:でした)?|存在しません)
    (?:抱歉,?|对不起,?|您(?:访问|查看|请求)的)?(?:页面|网页|頁面|網頁)(?:不存在|未找到|找不到(?:了)?|已\
      (?:被)?删除|走丢了)
    (?:找不到|未找到)(?:该|此|您要的)?(?:页面|网页|頁面|網頁)
    (?:요청하신 )?페이지를 찾을 수 없(?:습니다|어요)|존재하지 않는 페이지(?:입니다)?
    (?:عذرا،? ?)?الصفحة غير موجودة|הדף לא נמצא|صفحه (?:مورد نظر )?یافت نشد
    không tìm thấy trang|halaman tidak ditemukan|ไม่พบหน้า.{0,20}|(?:पेज|पृष्ठ) नहीं मिला
""")
_ERROR: Final = _one_of(r"""
    http|error|status|erreur|fehler|errore|erro|fout|błąd|ошибка|помилка|hata|chyba|fel|fejl|feil|virhe
    código|code|错误|エラー
""")

_SORRY: Final = _one_of(r"""
    oops|ooops|whoops|sorry|uh[- ]oh|oh no|hmm|hoppla|ups|ops|oups|désolé|lo sentimos|spiacenti|извините
    entschuldigung
""")
_NOT_FOUND: Final = _one_of(r"""
    not found|nicht gefunden|non trouvée?|no encontrad[ao]|não encontrad[ao]|non trovat[ao]|niet gevonden
    не найдено
""")
_NUMBER: Final = rf"(?:(?:{_ERROR})\W{{0,3}}){{0,2}}404"
NOT_FOUND_SAYS: Final = re.compile(
    rf"(?!(?:{_NOT_FOUND})\Z)(?:(?:{_SORRY})\W{{1,6}})?(?:{_NUMBER}\W{{1,5}}|404)?(?:{_NOT_FOUND}|{_NO_PAGE})"
    rf"(?:\W{{0,5}}{_NUMBER})?(?:\W{{1,3}}error)?"
    rf"|(?:(?:{_ERROR})\W{{0,3}}){{1,2}}404|404\W{{0,3}}(?:{_ERROR})(?: page)?"
)
NOT_FOUND_PERHAPS: Final = re.compile(rf"404|{_NOT_FOUND}")  # or the name of something
NOT_FOUND_PHRASES: Final = _any(rf"""
    {_NO_PAGE}
    (?<!if )(?:the )?(?:page|link|address|url) (?:that )?you(?:'re| are| were|'ve| have)? (?:looking for\
      |trying to (?:reach|view|visit|access)|requested|followed|entered|reached|clicked)(?: on)?,? (?:does\
      (?:n't| not) exist|(?:could|can)(?:n't| ?not) be found|was not found|wasn't found|is (?:broken|missing\
      |no longer|not available)|isn't|no longer|has been|may have been|might have been|may be|seems to)
    we (?:can't|cannot|couldn't|could not|were unable to) (?:seem to )?(?:find|locate) (?:the|that\
      |this) page
    nothing (?:was found|to be found) at this location
""")

# Login walls.

LOGIN_SAYS: Final = _any(r"""
    (?:please )?(?:log|sign)[ -]?in(?: (?:to|with|for|here|required|page|form|or)\b.{0,60})?
    (?:member|members|customer|client|user|student|staff|admin|account|employee|secure|partner\
      |subscriber)s?'? (?:area |portal )?(?:log|sign)[ -]?in
    (?:login|authentication|authorization|registration|sign-?in|password|subscription) (?:is )?required
    (?:you (?:must|need to) (?:log|sign) in|you must be logged in).{0,60}
    (?:single sign-?on|sso)|members only|welcome back
    (?:password|passcode)[ -]protected|enter (?:using )?(?:the )?(?:store )?password|opening soon
    (?:create|register for) (?:a|an|your) (?:free )?account.{0,40}|sign up(?: .{0,40})?
    (?:join|subscribe) to (?:continue|read|view).{0,40}
    (?:bitte )?(?:anmelden|anmeldung|einloggen)(?: .{0,40})?
    (?:melden sie sich|melde dich) (?:bitte )?an(?: .{0,40})?|login erforderlich
    (?:page de )?connexion(?: .{0,40})?
    (?:se connecter|connectez-vous|identifiez-vous|identification)(?: .{0,40})?
    (?:iniciar|inicia|inicio de) sesión(?: .{0,40})?|acceder|acceso (?:clientes|usuarios|socios)
    identifícate
    (?:fazer |faça )?login(?: .{0,30})?|iniciar sessão|entrar|acesse sua conta
    accedi(?: .{0,40})?|accesso (?:clienti|utenti|area riservata)|area riservata
    effettua (?:il login|l'accesso)
    (?:inloggen|aanmelden|log in|logga in|log ind|logg inn|kirjaudu(?: sisään)?)(?: .{0,40})?
    (?:zaloguj(?: się)?|logowanie|přihlášení|přihlásit se|prihlásenie|bejelentkezés|autentificare|giriş\
      (?: yap)?|oturum aç)(?: .{0,30})?
    (?:вход|войти|войдите|авторизация|увійти|вхід|σύνδεση|تسجيل الدخول|כניסה|התחברות|đăng nhập|masuk)\
      (?: .{0,40})?
    (?:ログイン|サインイン|会員ログイン|登录|登入|登錄|用户登录|会员登录|로그인).{0,12}
""")

LOGIN_PHRASES: Final = _any(r"""
    (?:you (?:must|need to|have to)|please) (?:first )?(?:be (?:logged|signed) in|(?:log|sign) ?in\
      |register|authenticate)(?: or (?:register|sign up))?(?:,? (?:first )?(?:to|in order to|before) (?:view\
      |see|access|continue|read|use|proceed|open)\w{0,4}|\.)
    (?:log|sign) ?in (?:or (?:register|sign up|create an account) )?to (?:continue|view|see|access|read\
      |unlock|proceed)
    (?:this|the) (?:content|page|area|section|resource|topic|forum|post|profile|account) (?:is )?(?:only \
      |restricted |reserved |private|exclusively )?(?:available |visible |accessible )?(?:only )?(?:to|for) \
      (?:logged[- ]in |registered |signed[- ]in )?(?:members|users|subscribers|customers)
    (?:this (?:content|page|post|store|site) is password protected|enter (?:the|your|store) password)
    (?:bitte )?(?:melden sie sich|melde dich|loggen sie sich|logge dich) (?:bitte )?(?:an|ein)
    sie müssen (?:sich )?(?:angemeldet sein|anmelden|eingeloggt sein)
    vous devez (?:être connecté|vous connecter|vous identifier)|veuillez vous (?:connecter|identifier)
    connectez-vous pour
    (?:debes?|tienes que|necesitas|es necesario) iniciar sesión|inicia sesión para
    (?:é necessário|você precisa|é preciso) (?:fazer login|estar logado|iniciar sessão)|faça login para
    (?:devi|è necessario) (?:effettuare (?:il login|l'accesso)|accedere|autenticarsi)|accedi per
    (?:je moet|u moet|u dient) (?:zijn )?(?:ingelogd|in te loggen|inloggen|zich aan te melden)|log in om
    musisz (?:być zalogowany|się zalogować)|zaloguj się,? (?:aby|żeby)
    (?:необходимо|нужно|требуется) (?:войти|авторизоваться|авторизация|вход)|войдите,? чтобы
    ログイン(?:してください|が必要|すると)|请(?:先)?(?:登录|登入)|登录后(?:可|才|查看|继续)
    로그인(?:이 필요| 후 이용|해 ?주)
""")

PAYWALL_PHRASES: Final = _any(r"""
    subscribe (?:now )?to (?:continue|keep) reading
    to (?:continue|keep) reading,? (?:please )?(?:subscribe|log in|sign in|register|create)
    (?:this|the) (?:article|content|story) is (?:only )?(?:for|available to|reserved for) (?:paying \
      |registered )?(?:subscribers|members)
    already a (?:subscriber|member)\?? (?:log|sign) in
    you(?:'ve| have) (?:reached|read) your (?:limit|last).{0,30}(?:articles?)
    create (?:a|your) (?:free )?account to (?:continue|keep|read)
    register (?:for free )?to (?:continue|keep|read)
    jetzt weiterlesen|(?:nur )?für abonnenten|weiterlesen mit \w{1,20}(?:plus|\+)|diesen artikel weiterlesen
    (?:article|contenu) réservé (?:à nos |aux )?abonnés|il vous reste .{0,20} à (?:lire|découvrir)
    (?:contenido|artículo) (?:exclusivo|solo) para (?:suscriptores|socios)
    suscríbete para (?:seguir|continuar) leyendo
    (?:contenuto|articolo) riservato agli abbonati|abbonati per continuare
    conteúdo exclusivo para assinantes|assine para continuar
    доступно (?:только )?(?:для )?подписчик(?:ам|ов)|会員限定|有料会員|この記事は(?:有料)?会員
    (?:仅限|仅对)(?:会员|订阅)
""")

# Parked domains, and servers on which nobody has put a site.

PARKED_PHRASES: Final = _any(r"""
    (?:[a-z0-9-]{1,63}(?:\.[a-z0-9-]{2,63}){1,3}|(?:the|this|premium) (?:premium )?(?:domain(?: name)?\
      |web ?address)(?: [a-z0-9.-]{3,80})?) (?:(?:is|may be|might be) (?:currently |now )?(?:available )?\
      (?:for sale|available for purchase)|(?:has|is) expired|(?:is|has been|was) (?:currently |recently )?\
      (?:parked|registered (?:with|at|by|through|via|using)))
    (?:buy|purchase|own|acquire|get|make an offer (?:on|for)|inquire about|lease) this domain(?: name)?\b
    (?:domain|page|site) (?:is )?parked (?:free|by|with|at|courtesy)
    courtesy of (?:godaddy|namecheap|your registrar)
    future home of (?:something|a (?:new|great))
    (?:this )?(?:account|site|website) (?:has been|is|was) suspended\b.{0,80}(?:host|provider|billing\
      |administrator)?
    (?:diese |die )?domain (?:\S{3,80} )?(?:steht zum verkauf|ist zu verkaufen|zu verkaufen|kaufen\
      |ist geparkt|wurde (?:soeben |gerade )?(?:registriert|geparkt))
    (?:ce |le )?(?:nom de )?domaine (?:\S{3,80} )?(?:est (?:à vendre|en vente|parqué)\
      |est peut-être à vendre|a expiré|vient d'être (?:créé|enregistré))
    (?:este |el )?dominio (?:\S{3,80} )?(?:está (?:a la venta|en venta|aparcado|à venda)|ha (?:caducado\
      |expirado))
    este domínio (?:está|pode estar) (?:à venda|registrado|estacionado)
    (?:questo |il )?dominio (?:\S{3,80} )?(?:è (?:in vendita|scaduto|parcheggiato|stato registrato))
    (?:dit )?domein(?:naam)? (?:\S{3,80} )?(?:is te koop|is gereserveerd|staat te koop)
    (?:ta |ta )?domena (?:\S{3,80} )?(?:jest na sprzedaż|na sprzedaż|jest zaparkowana|wygasła)
    domänen (?:\S{3,80} )?är till salu
    (?:этот )?домен (?:\S{3,80} )?(?:прода[её]тся|выставлен на продажу|припаркован\
      |только что зарегистрирован)
    このドメインは(?:販売中|売り出し中|お名前|.{0,20}取得|.{0,20}売)
    (?:此|该|本|这个)域名(?:正在|可|已)?(?:出售|转让|待售|已过期)|域名(?:出售|转让)|이 도메인은 .{0,10}판매
""")

DEFAULT_SAYS: Final = _any(r"""
    welcome to (?:nginx|openresty|tengine|caddy|centos|lighttpd|your new (?:site|website)).{0,40}
    (?:apache2?|apache http server|httpd|nginx|lighttpd|web server|http server) (?:\w{1,20} ){0,3}\
      (?:default|test) page.{0,40}
    it works
    (?:test|default) page for the (?:apache|nginx|http|httpd).{0,60}
    iis windows(?: server)?|iis\d{1,2}|internet information services
    (?:domain )?default (?:web ?)?(?:site )?page(?:\W.{0,40})?
    congratulations,? the caddy web server is working
    web server's default page|plesk.{0,20}default page|cpanel.{0,20}default page
    (?:account|site|website) suspended|(?:domain|site) (?:parked|not configured)
    website coming soon on .{0,30}
""")

# Shells.

NEEDS_SCRIPT: Final = _any(r"""
    (?:enable|activate|turn on|allow|without|requires?|needs?|has|have|use) (?:\w{1,12} ){0,3}java ?script
    java ?script (?:\w{1,12} ){0,3}(?:enabled|required|disabled|activated|needed|is off|aktivieren|activé\
      |habilitado|attivo|activado)
    java ?script.{0,40}(?:aktivier|activer|activez|activar|habilit|abilita|attiva|inschakel|włącz|включ\
      |有効|启用|啟用|사용|활성)
    (?:aktivier|activer|activez|activar|habilit|abilita|attiva|schakel|włącz|включ|启用\
      |啟用)\w{0,8}.{0,20}java ?script
""")

LOADING_SAYS: Final = _any(r"""
    (?:(?:now |page |content |app )?loading|please wait|initiali[sz]ing|starting(?: up)?|one moment\
      (?: please)?|just a (?:moment|second))(?:,? .{0,20})?
    (?:wird geladen|lädt|lade|bitte warten|chargement(?: en cours)?|veuillez patienter|cargando|carregando\
      |caricamento(?: in corso)?|laden|ładowanie|laddar|yükleniyor|загрузка|завантаження|読み込み中|加载中\
      |載入中|正在加载|로딩 ?중|불러오는 중|جار التحميل).{0,20}
""")
