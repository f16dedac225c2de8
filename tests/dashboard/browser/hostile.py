"""Two hundred strings that would like to be code: ten things to do, out of twenty places that text can stand in."""

# Whatever is tried, it calls this; nobody else does.
CALLED = "taken"
TRIES = (
    "<script>taken()</script>",
    "<img src=x onerror=taken()>",
    "<svg/onload=taken()>",
    "<details open ontoggle=taken()>",
    "<input autofocus onfocus=taken()>",
    "<iframe srcdoc='<script>parent.taken()</script>'></iframe>",
    "<a href=javascript:taken()>press</a>",
    "<i hx-get=/logout hx-trigger=load hx-on:load=taken()>",
    "<base href=//evil.test><style>*{display:none}</style>",
    "<math><mtext><style><img src=x onerror=taken()></style>",
)
PLACES = (
    "", '">', "'>", "`>", " x=", "-->", "]]>", "</script>", "</title>", "</style>", "</textarea>", "</code></pre>", "</svg>",
    "</template>", "\\\"'};taken();//", "{{ taken() }}{% raw %}", "${taken()}", "&lt;b&gt;&#x3c;", "%3Cb%3E", "javascript:taken()//",
)  # fmt: skip
STRINGS = tuple(place + attempt for place in PLACES for attempt in TRIES)
# And names that would like to be a way to somewhere else.
CLIMBING = (
    ".", "..", "a/..", "../queues/mail", "../usage/a/./b", "%2e%2e/%2E", "..\\..\\queues", "~../..", "//evil.test/edit",
)  # fmt: skip
