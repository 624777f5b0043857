"""What the author's own names say about an element: that it is the article, or that it is beside it.

Class and id are free words, but nearly everybody chooses from the same few hundred. They are split as they
are written (`related-posts`, `relatedPosts`, `related_posts`) and looked up word by word; each answer is
remembered, because a page says the same few names over and over.
"""

import re
from functools import lru_cache
from typing import Final

from gossamer.web.vocabulary import phrases, tags

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_APART: Final = re.compile(r"[^a-z0-9]+")
_MODIFIER: Final = re.compile(r"--.*|@.*")  # `block--modifier` speaks of a variant, not of the part

# The article itself, best first: its body, then the whole of it, then the place where it stands.
_BODY: Final = phrases(
    """
    (?:articles?|entry|post|story|blog|news|single|full|note) (?:main )?(?:body|contents?|text|copy|txt),
    (?:documents?|doc|detail|topic|question|recipe|review|product) (?:main
    )?(?:body|contents?|text|copy|txt), article(?:body|text|content), story(?:body|text|content),
    post(?:content|body|area|entry), entrycontent, news(?:body|text|content), body ?copy, body ?text, rich
    ?text, text content, content body, section content, available content, cms content, field name body,
    field type text with summary, article p body, article inner, article wrap, art text, nd article, zw
    content, rte, wysiwyg, prose, markdown body, mw parser output, mw content text, theme doc markdown, rst
    content
    """
)
_WHOLE: Final = phrases(
    """
    article, post, entry, hentry, story, blogpost, news item, artikel, beitrag, documentation, document,
    rustdoc, articolo, articulo, nota, noticia, zhengwen
    """
)
_PLACE: Final = phrases(
    """
    contents?, main, maincontent, primary, page, pagecontent, center, inhalt, contenu, contenido, body,
    bodywrapper, documentwrapper, text, wrapper
    """
)
_AROUND: Final = phrases("container, wrapper, wrap, area, outer, stream, list, holder")
_ITSELF: Final = re.compile(
    r"(?:^|\s)(?:hentry|h-entry|type-post|type-page|articleBody|admonition|admonitionblock|callout|footnotes?"
    r"|footnote-list|note|warning|tip|important|caution|example|pull-?quote|topic)(?:\s|$)"
)

# Beside the article whatever they hold.
_SURELY_BESIDE: Final = phrases(
    """
    nav, navbar, navheader, navfooter, navigation, subnav, topnav, mainnav, navbox, breadcrumbs?, bread
    crumb, footer, masthead, comments?, commentlist, disqus, livefyre, kommentare, commentaires,
    comentarios, respond, trackbacks?, pingbacks?, sidebars?, side bar, sphinxsidebar, right
    ?(?:rail|bar|col|column|sidebar|side), left ?(?:rail|bar|sidebar), rail, col(?:umn)? right, marginalia,
    related, relateds, relatedposts, recirc, recirculation, recommended, recommendations?, shares?, sharing,
    share(?:bar|buttons?|tools?|links?|this), sharedaddy, addthis, addtoany, socials?, newsletters?,
    cookies?, consent, gdpr, ccpa, outbrain, taboola, zergnet, revcontent, mgid, adverts?, advertisement,
    advertising, adsense, widget area, catlinks, printfooter, most ?(?:read|popular|viewed), trending,
    popular posts, author ?(?:box|bio|info|card|profile), about the author, about author
    """
)
# Beside the article when they hold little of the page.
_BESIDE: Final = phrases(
    """
    navi, menus?, menubar, submenu, mainmenu, colophon, topbar, top bar, skip ?link, skip to content, aside,
    more ?(?:stories|from|news|posts?), interesting ?articles?, linktipps, weiterlesen, mehr zum thema, lire
    aussi, read ?(?:more|next), up next, next up, also like, youmaylike, you may like, recommend,
    discussion, responses, subscribe, subscription, subscriber, mailing list, mailchimp, sign ?up, opt ?in,
    promos?, promotion, promobox, ads?, adbox, adslot, adunit, sponsors?, sponsored, dfp, gpt, teads,
    paywall, metered, privacy notice, modal, pop ?up, popover, overlay, lightbox, tooltip, toolbar, toolbox,
    utility, utilities, pagination, pager, paging, page links, pagenav, postnav, prevnext, prev next, login,
    log in, sign ?in, register, search ?(?:form|box|bar), tags?, taglist, tagcloud, keywords, categories,
    cat links, entry utility, (?:entry|post|article) ?(?:footer|meta|info|categories), metadata,
    postmetadata, metabox, bylines?, by line, author (?:name|link|avatar), post author, submitted, dateline,
    timestamp, datetime, time stamp, pubdate, (?:post|entry|article|publish|published|creation|modified)
    ?(?:date|time), published, last updated, ratings?, votes?, voting, like button, fb like, feedback,
    printer, print only, printfriendly, noprint, text ?size, font ?size, jump ?links?, toc, table ?of
    ?contents, on this page, back ?to ?top, scroll top, copyright, disclaimer, license box, credits?,
    carousel, teasers?, teaserlist, cta, call to action, donate, donation, app store, download app, edit
    ?section, ambox, mbox, sistersitebox, headerlink, anchor ?link, permalink, edit page, edit this page,
    theme edit, video ?player, player, jwplayer, brightcove, embed ?code, quick ?links, useful links, hot
    topics, language ?(?:selector|switcher|links), lang switch, ticker, breaking ?news, alert ?bar,
    notification, notice bar, announcement ?bar, site ?(?:header|info), viewcode link, srclink, source link,
    copybtn, copy button, zero ?clipboard, clipboard, eyebrow, kicker, hideme, field category, field tags,
    out of band, slug, section name
    """
)
_BESIDE_ALONE: Final = tags(  # too common to be heeded as a part of a longer name
    "widget widgets meta date updated author authors banner print legal tools info actions controls options "
    "buttons"
)
# Names that speak of the page around, of a state or of the subject, not of the part that they are written on.
_ABOUT_ELSE: Final = re.compile(
    r"^(?:has|with|no|without|not|hide|show|is|js|open|closed|tag|category|cat|format|status|type|page) ."
    r"|(?:^| )(?:layout|grid|row|cols?|enabled?|disabled|template)(?: |$)"
)
_EVERYWHERE: Final = tags("nav footer aside menu search")
_ROLES: Final = tags(
    "navigation banner contentinfo complementary search dialog alertdialog menu menubar toolbar tablist form "
    "alert doc-toc tooltip"
)
_ROLES_OF_CONTENT: Final = tags("doc-footnote doc-endnotes note article main")

# Short lines about the page, in the languages in which they are most often read.
_NOTES: Final = (
    r"advertisements?|anzeige|werbung|publicidad|publicité|sponsored(?: content)?",
    r"share(?: this| on| via|:)?.{0,30}|tweet|follow (?:us|me|@).*",
    r"email this.*|print(?: this)?(?: article| page)?",
    r"\d+ ?(?:comments?|kommentare?|commentaires?|comentarios|shares?|likes?|views?)|no comments(?: yet)?:?",
    r"(?:leave|post|add|write) a (?:comment|reply).*|comments? (?:are )?(?:closed|off).*",
    r"kommentare? (?:schreiben|geschlossen).*|view (?:all )?(?:\d+ )?comments.*|blog comments powered by.*",
    r"(?:filed|posted) (?:under|in|by|on)\b.*",
    r"(?:tags?|labels?|categor(?:y|ies)|topics?|schlagworte|keywords):.*",
    r"(?:newer|older|next|previous) (?:posts?|articles?|entry|page|episode)\W*.*",
    r"related (?:posts?|articles?|stories|topics|subjects|links|content)|ähnliche (?:beiträge|artikel)",
    r"(?:back|return|zurück|retour) (?:to|zu[rm]?|à).{0,30}|weiterführende[rn]? links?:?|mehr zum thema.*",
    r"(?:read|see|load|show) more|read next.*|continue reading.*|weiterlesen|lade weitere.*|lire la suite.*",
    r"sign up (?:for|to).*|subscribe(?: to| now| here)?\b.{0,50}|click here to .{0,40}|skip to .*",
    r"(?:copyright|©).*|all rights reserved.*|powered by .*",
    r"(?:hide|show) caption|enlarge(?: this)? ?(?:image)?|\d+ min(?:ute)?s?(?: read)?",
    r"(?:published|updated|last (?:updated|modified)|posted|submitted on)\b.{0,60}\d{4}.*",
    r"(?:veröffentlicht|aktualisiert|publié le)\b.{0,60}\d{4}.*",
    r"(?:by|von|par|por) [A-Z][\w.'-]+(?: [A-Z][\w.'-]+){1,3}",
)
_NOTE: Final = re.compile(rf"\W*(?:{'|'.join(_NOTES)})\W*", re.I)


@lru_cache(maxsize=16_384)
def _words(hints: str) -> str:
    """`relatedPosts post-42` as `related posts post 42`."""
    return _APART.sub(" ", _CAMEL.sub(" ", hints).lower()).strip()


@lru_cache(maxsize=16_384)
def standing(hints: str) -> int:
    """3 the body of an article, 2 the whole of one, 1 where one stands, 0 nothing said."""
    said = _words(hints)
    if _BODY.search(said):
        return 2 if _AROUND.search(said) else 3
    if _WHOLE.search(said):
        return 2
    return 1 if _PLACE.search(said) else 0


@lru_cache(maxsize=16_384)
def beside(hints: str) -> int:
    """2 surely not the article, 1 not the article when it holds little of the page, 0 nothing said."""
    found = 0
    for name in hints.split():
        said = _words(_MODIFIER.sub("", name))
        if said and not _ABOUT_ELSE.search(said):
            if _SURELY_BESIDE.search(said):
                return 2
            if said in _BESIDE_ALONE or _BESIDE.search(said):
                found = 1
    return found


@lru_cache(maxsize=16_384)
def is_itself(hints: str, role: str) -> bool:
    """Whether the names or the role say that this belongs to the article, whatever else they say."""
    return _ITSELF.search(hints) is not None or role in _ROLES_OF_CONTENT


def beside_by_role(tag: str, role: str) -> bool:
    return tag in _EVERYWHERE or role in _ROLES


def is_note(line: str) -> bool:
    """Whether a short line speaks about the page, not within it."""
    return _NOTE.fullmatch(line) is not None
