//! What expressions can name.

use super::types::Type;
use crate::set::body::Reads;

/// Something that a name leads to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
    /// A group of names.
    Object(&'static Object),
    /// A value.
    Variable(Variable),
}

/// A group of names: `request` in `request.method`.
#[derive(Debug)]
pub(super) struct Object {
    /// As it is written from the root; empty for the root itself.
    pub(super) name: &'static str,
    pub(super) fields: &'static [(&'static str, Named)],
}

impl Object {
    pub(super) fn field(&self, name: &str) -> Option<Named> {
        let field = self.fields.iter().find(|(own, _)| *own == name);
        field.map(|(_, named)| *named)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|(name, _)| *name)
    }
}

/// A value of a request or call that an expression can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    RequestMethod,
    RequestHost,
    RequestPath,
    RequestQuery,
    RequestHeaders,
    RequestCookies,
    RequestScheme,
    RequestProtocol,
    ClientIp,
    TlsVersion,
    TlsCipher,
    TlsServerName,
    TlsAlpn,
    CertificateSubject,
    CertificateNames,
    CertificateSha256,
    IdentityKnown,
    IdentitySubject,
    IdentityTier,
    Claims,
    BodyJson,
    BodyForm,
    GraphqlOperation,
    GraphqlType,
    GraphqlOperations,
    BotVerified,
    BotName,
    GeoCountry,
    GeoAsn,
    Descriptor,
    Descriptors,
    Domain,
}

impl Variable {
    pub(super) fn of_type(self) -> Type {
        match self {
            Self::RequestMethod
            | Self::RequestHost
            | Self::RequestPath
            | Self::RequestScheme
            | Self::RequestProtocol
            | Self::ClientIp
            | Self::TlsVersion
            | Self::TlsCipher
            | Self::TlsServerName
            | Self::TlsAlpn
            | Self::CertificateSubject
            | Self::CertificateSha256
            | Self::IdentitySubject
            | Self::IdentityTier
            | Self::GraphqlOperation
            | Self::GraphqlType
            | Self::BotName
            | Self::GeoCountry
            | Self::Domain => Type::Text,
            Self::RequestQuery
            | Self::RequestHeaders
            | Self::RequestCookies
            | Self::BodyForm
            | Self::Descriptor => Type::texts(),
            Self::Descriptors => Type::list(Type::texts()),
            Self::CertificateNames => Type::list(Type::Text),
            Self::IdentityKnown | Self::BotVerified => Type::Bool,
            Self::GraphqlOperations | Self::GeoAsn => Type::Int,
            Self::Claims => Type::map(Type::Text, Type::Dyn),
            Self::BodyJson => Type::Dyn,
        }
    }
}

impl Variable {
    /// Adds the form of body that it is found in, if it is.
    pub(super) fn add_to(self, reads: &mut Reads) {
        match self {
            Self::BodyJson => reads.json = true,
            Self::BodyForm => reads.form = true,
            Self::GraphqlOperation | Self::GraphqlType | Self::GraphqlOperations => reads.graphql = true,
            _ => {}
        }
    }
}

/// Everything that can be named of a request.
pub(super) static OF_REQUESTS: Object = Object {
    name: "",
    fields: &[
        ("request", Named::Object(&REQUEST)),
        ("client", Named::Object(&CLIENT)),
        ("tls", Named::Object(&TLS)),
        ("identity", Named::Object(&IDENTITY)),
        ("claims", Named::Variable(Variable::Claims)),
        ("body", Named::Object(&BODY)),
        ("bot", Named::Object(&BOT)),
        ("geo", Named::Object(&GEO)),
    ],
};

/// Everything that can be named of a call of the rate limit service.
pub(super) static OF_CALLS: Object = Object {
    name: "",
    fields: &[
        ("descriptors", Named::Variable(Variable::Descriptors)),
        ("domain", Named::Variable(Variable::Domain)),
    ],
};

/// The same where one of its descriptors was matched.
pub(super) static OF_DESCRIPTORS: Object = Object {
    name: "",
    fields: &[
        ("descriptor", Named::Variable(Variable::Descriptor)),
        ("descriptors", Named::Variable(Variable::Descriptors)),
        ("domain", Named::Variable(Variable::Domain)),
    ],
};

static REQUEST: Object = Object {
    name: "request",
    fields: &[
        ("method", Named::Variable(Variable::RequestMethod)),
        ("host", Named::Variable(Variable::RequestHost)),
        ("path", Named::Variable(Variable::RequestPath)),
        ("query", Named::Variable(Variable::RequestQuery)),
        ("headers", Named::Variable(Variable::RequestHeaders)),
        ("cookies", Named::Variable(Variable::RequestCookies)),
        ("scheme", Named::Variable(Variable::RequestScheme)),
        ("protocol", Named::Variable(Variable::RequestProtocol)),
    ],
};

static CLIENT: Object = Object {
    name: "client",
    fields: &[("ip", Named::Variable(Variable::ClientIp))],
};

static TLS: Object = Object {
    name: "tls",
    fields: &[
        ("version", Named::Variable(Variable::TlsVersion)),
        ("cipher", Named::Variable(Variable::TlsCipher)),
        ("server_name", Named::Variable(Variable::TlsServerName)),
        ("alpn", Named::Variable(Variable::TlsAlpn)),
        ("client_certificate", Named::Object(&CLIENT_CERTIFICATE)),
    ],
};

static CLIENT_CERTIFICATE: Object = Object {
    name: "tls.client_certificate",
    fields: &[
        ("subject", Named::Variable(Variable::CertificateSubject)),
        ("names", Named::Variable(Variable::CertificateNames)),
        ("sha256", Named::Variable(Variable::CertificateSha256)),
    ],
};

static IDENTITY: Object = Object {
    name: "identity",
    fields: &[
        ("known", Named::Variable(Variable::IdentityKnown)),
        ("subject", Named::Variable(Variable::IdentitySubject)),
        ("tier", Named::Variable(Variable::IdentityTier)),
    ],
};

static BODY: Object = Object {
    name: "body",
    fields: &[
        ("json", Named::Variable(Variable::BodyJson)),
        ("form", Named::Variable(Variable::BodyForm)),
        ("graphql", Named::Object(&GRAPHQL)),
    ],
};

static GRAPHQL: Object = Object {
    name: "body.graphql",
    fields: &[
        ("operation", Named::Variable(Variable::GraphqlOperation)),
        ("type", Named::Variable(Variable::GraphqlType)),
        ("operations", Named::Variable(Variable::GraphqlOperations)),
    ],
};

static BOT: Object = Object {
    name: "bot",
    fields: &[
        ("verified", Named::Variable(Variable::BotVerified)),
        ("name", Named::Variable(Variable::BotName)),
    ],
};

static GEO: Object = Object {
    name: "geo",
    fields: &[
        ("country", Named::Variable(Variable::GeoCountry)),
        ("asn", Named::Variable(Variable::GeoAsn)),
    ],
};
