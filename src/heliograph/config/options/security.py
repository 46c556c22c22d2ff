"""Keys of every Kafka client that say how to reach a cluster and how to prove who one is."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Effect, Kind, Option, Scope, Value

_NO_KERBEROS = "Kerberos is not supported; use PLAIN, SCRAM, OAUTHBEARER or client certificates"
_JAVA_TLS = "TLS is Python's and OpenSSL's here, which has no such setting"
_JAVA_CLASS = "Java classes cannot be loaded here"
_RENEWAL = "a token is renewed at `sasl.login.refresh.window.factor` of its life, and when a broker refuses it"
_CLAIMS = "only brokers look into tokens"
_BROKER_SIDE = "only brokers check tokens; clients never use it"


def _text(name: str, default: Value, doc: str) -> Option:
    return Option(name, Kind.STRING, default, doc, Scope.CLIENT)


def _secret(name: str, doc: str) -> Option:
    return Option(name, Kind.PASSWORD, None, doc, Scope.CLIENT)


def _idle(name: str, kind: Kind, default: Value, doc: str, note: str) -> Option:
    return Option(name, kind, default, doc, Scope.CLIENT, effect=Effect.NONE, note=note)


def _unsupported(name: str, doc: str, note: str) -> Option:
    return Option(name, Kind.STRING, None, doc, Scope.CLIENT, effect=Effect.UNSUPPORTED, note=note)


_CONNECTION: Final = (
    Option(
        "bootstrap.servers",
        Kind.LIST,
        None,
        "Brokers to begin with, as host:port. Required for each cluster.",
        Scope.CLIENT,
        required=True,
    ),
    Option(
        "security.protocol",
        Kind.STRING,
        "PLAINTEXT",
        "Whether connections are encrypted (SSL) and authenticated (SASL).",
        Scope.CLIENT,
        choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    ),
)

_TLS: Final = (
    _text("ssl.protocol", "TLSv1.3", "Newest TLS version to use."),
    Option(
        "ssl.enabled.protocols",
        Kind.LIST,
        ("TLSv1.2", "TLSv1.3"),
        "TLS versions to use; nothing older than 1.2 is possible.",
        Scope.CLIENT,
    ),
    _idle("ssl.cipher.suites", Kind.LIST, None, "Cipher suites to use.", "OpenSSL chooses among its secure ones"),
    _text(
        "ssl.endpoint.identification.algorithm",
        "https",
        "`https`: the certificate must name the host; empty: not checked, so that anyone in between can listen.",
    ),
    _text("ssl.truststore.type", "JKS", "Form of the truststore: JKS, PKCS12 or PEM."),
    _text("ssl.truststore.location", None, "File with the trusted certificates."),
    _secret("ssl.truststore.password", "Password of that file."),
    _secret("ssl.truststore.certificates", "Trusted certificates themselves, in PEM."),
    _text("ssl.keystore.type", "JKS", "Form of the keystore: JKS, PKCS12 or PEM."),
    _text("ssl.keystore.location", None, "File with the client's key and certificates, for mutual TLS."),
    _secret("ssl.keystore.password", "Password of that file."),
    _secret("ssl.keystore.key", "The client's private key itself, in PEM (PKCS 8)."),
    _secret("ssl.keystore.certificate.chain", "The client's certificates themselves, in PEM."),
    _secret("ssl.key.password", "Password of the private key."),
    _idle("ssl.provider", Kind.STRING, None, "Java security provider.", _JAVA_TLS),
    _idle("ssl.keymanager.algorithm", Kind.STRING, "SunX509", "Java key manager.", _JAVA_TLS),
    _idle("ssl.trustmanager.algorithm", Kind.STRING, "PKIX", "Java trust manager.", _JAVA_TLS),
    _idle("ssl.secure.random.implementation", Kind.STRING, None, "Java random generator.", _JAVA_TLS),
    _unsupported("ssl.engine.factory.class", "Java class that makes TLS engines.", _JAVA_CLASS),
    _unsupported("security.providers", "Java classes that make security providers.", _JAVA_CLASS),
)

_SASL: Final = (
    Option(
        "sasl.mechanism",
        Kind.STRING,
        "GSSAPI",
        "How to authenticate: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER. Kafka's default, GSSAPI "
        "(Kerberos), is not supported.",
        Scope.CLIENT,
        choices=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"),
    ),
    _secret("sasl.jaas.config", "Login module and credentials, in Java's JAAS format."),
    _text("sasl.oauthbearer.token.endpoint.url", None, "Where OAUTHBEARER fetches its tokens."),
    Option(
        "sasl.oauthbearer.scope.claim.name",
        Kind.STRING,
        "scope",
        "Claim that holds the scope.",
        Scope.CLIENT,
        effect=Effect.NONE,
        note=_CLAIMS,
    ),
    Option(
        "sasl.oauthbearer.sub.claim.name",
        Kind.STRING,
        "sub",
        "Claim that holds the subject.",
        Scope.CLIENT,
        effect=Effect.NONE,
        note=_CLAIMS,
    ),
    Option(
        "sasl.oauthbearer.header.urlencode",
        Kind.BOOLEAN,
        False,
        "URL-encode client id and secret in the Authorization header.",
        Scope.CLIENT,
        since="3.9",
    ),
    Option("sasl.login.connect.timeout.ms", Kind.INT, None, "Limit for connecting to it.", Scope.CLIENT),
    Option("sasl.login.read.timeout.ms", Kind.INT, None, "Limit for its answer.", Scope.CLIENT),
    Option(
        "sasl.login.retry.backoff.ms",
        Kind.LONG,
        100,
        "First pause between tries.",
        Scope.CLIENT,
        effect=Effect.NONE,
        note=_RENEWAL,
    ),
    Option(
        "sasl.login.retry.backoff.max.ms",
        Kind.LONG,
        10000,
        "Longest pause between tries.",
        Scope.CLIENT,
        effect=Effect.NONE,
        note=_RENEWAL,
    ),
    Option(
        "sasl.login.refresh.window.factor",
        Kind.DOUBLE,
        0.8,
        "Part of a token's life after which it is renewed.",
        Scope.CLIENT,
        minimum=0.5,
        maximum=1.0,
    ),
    Option(
        "sasl.login.refresh.window.jitter",
        Kind.DOUBLE,
        0.05,
        "Random share added to that.",
        Scope.CLIENT,
        minimum=0.0,
        maximum=0.25,
        effect=Effect.NONE,
        note=_RENEWAL,
    ),
    Option(
        "sasl.login.refresh.min.period.seconds",
        Kind.SHORT,
        60,
        "Shortest time between renewals.",
        Scope.CLIENT,
        minimum=0,
        maximum=900,
        effect=Effect.NONE,
        note=_RENEWAL,
    ),
    Option(
        "sasl.login.refresh.buffer.seconds",
        Kind.SHORT,
        300,
        "Time before expiry at which a token is renewed at the latest.",
        Scope.CLIENT,
        minimum=0,
        maximum=3600,
        effect=Effect.NONE,
        note=_RENEWAL,
    ),
    _unsupported("sasl.client.callback.handler.class", "Java class that answers SASL callbacks.", _JAVA_CLASS),
    _unsupported("sasl.login.callback.handler.class", "Java class that fetches credentials.", _JAVA_CLASS),
    _unsupported("sasl.login.class", "Java class that logs in.", _JAVA_CLASS),
    _unsupported("sasl.kerberos.service.name", "Kerberos name of the brokers.", _NO_KERBEROS),
    _idle("sasl.kerberos.kinit.cmd", Kind.STRING, "/usr/bin/kinit", "Path of kinit.", _NO_KERBEROS),
    _idle(
        "sasl.kerberos.ticket.renew.window.factor",
        Kind.DOUBLE,
        0.8,
        "Part of a ticket's life after which it is renewed.",
        _NO_KERBEROS,
    ),
    _idle("sasl.kerberos.ticket.renew.jitter", Kind.DOUBLE, 0.05, "Random share added to that.", _NO_KERBEROS),
    _idle(
        "sasl.kerberos.min.time.before.relogin",
        Kind.LONG,
        60000,
        "Shortest time between logins.",
        _NO_KERBEROS,
    ),
    _idle("sasl.oauthbearer.jwks.endpoint.url", Kind.STRING, None, "Keys that check tokens.", _BROKER_SIDE),
    _idle(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        Kind.LONG,
        3600000,
        "Time between fetches of these keys.",
        _BROKER_SIDE,
    ),
    _idle(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        Kind.LONG,
        100,
        "First pause between tries.",
        _BROKER_SIDE,
    ),
    _idle(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        Kind.LONG,
        10000,
        "Longest pause between tries.",
        _BROKER_SIDE,
    ),
    _idle("sasl.oauthbearer.clock.skew.seconds", Kind.INT, 30, "Tolerated difference of clocks.", _BROKER_SIDE),
    _idle("sasl.oauthbearer.expected.audience", Kind.LIST, None, "Audience a token must have.", _BROKER_SIDE),
    _idle("sasl.oauthbearer.expected.issuer", Kind.STRING, None, "Issuer a token must have.", _BROKER_SIDE),
)

OPTIONS: Final = (*_CONNECTION, *_TLS, *_SASL)
