//! The few words on a page that are not its owner's, in the languages we have them in.

use crate::page::document::Locale;

/// The words in one language. `{}` stands for a number of years.
pub(super) struct Words {
    language: &'static str,
    pub(super) profiles: &'static str,
    pub(super) links: &'static str,
    pub(super) products: &'static str,
    pub(super) sold_out: &'static str,
    pub(super) preorder: &'static str,
    pub(super) backorder: &'static str,
    /// Said before a price that was higher.
    pub(super) was: &'static str,
    /// Around the lowest of several prices.
    pub(super) from: &'static str,
    /// Describes the QR code of a printed page.
    pub(super) code: &'static str,
    pub(super) report: &'static str,
    pub(super) age_question: &'static str,
    pub(super) age_button: &'static str,
    pub(super) sensitive_question: &'static str,
    pub(super) sensitive_button: &'static str,
}

const ENGLISH: Words = Words {
    language: "en",
    profiles: "Profiles",
    links: "Links",
    products: "Products",
    sold_out: "Sold out",
    preorder: "Preorder",
    backorder: "Backorder",
    was: "Previous price:",
    from: "from {}",
    code: "QR code of this page",
    report: "Report this page",
    age_question: "This is for visitors of {} years and older.",
    age_button: "I am {} or older",
    sensitive_question: "This may show content that not everyone wants to see.",
    sensitive_button: "Show it",
};

const TRANSLATIONS: [Words; 7] = [
    Words {
        language: "ar",
        profiles: "الملفات الشخصية",
        links: "روابط",
        products: "منتجات",
        sold_out: "نفدت الكمية",
        preorder: "طلب مسبق",
        backorder: "متوفر لاحقًا",
        was: "السعر السابق:",
        from: "من {}",
        code: "رمز QR لهذه الصفحة",
        report: "الإبلاغ عن هذه الصفحة",
        age_question: "هذا المحتوى لمن أعمارهم {} سنة فأكثر.",
        age_button: "عمري {} سنة أو أكثر",
        sensitive_question: "قد لا يناسب هذا المحتوى جميع الزوار.",
        sensitive_button: "عرض المحتوى",
    },
    Words {
        language: "de",
        profiles: "Profile",
        links: "Links",
        products: "Produkte",
        sold_out: "Ausverkauft",
        preorder: "Vorbestellbar",
        backorder: "Später lieferbar",
        was: "Früherer Preis:",
        from: "ab {}",
        code: "QR-Code dieser Seite",
        report: "Diese Seite melden",
        age_question: "Dieser Inhalt ist für Besucher ab {} Jahren.",
        age_button: "Ich bin mindestens {} Jahre alt",
        sensitive_question: "Dieser Inhalt ist vielleicht nicht für alle geeignet.",
        sensitive_button: "Inhalt anzeigen",
    },
    Words {
        language: "es",
        profiles: "Perfiles",
        links: "Enlaces",
        products: "Productos",
        sold_out: "Agotado",
        preorder: "Reserva",
        backorder: "Bajo pedido",
        was: "Precio anterior:",
        from: "desde {}",
        code: "Código QR de esta página",
        report: "Denunciar esta página",
        age_question: "Este contenido es para personas de {} años o más.",
        age_button: "Tengo {} años o más",
        sensitive_question: "Este contenido puede no ser adecuado para todas las personas.",
        sensitive_button: "Mostrar el contenido",
    },
    Words {
        language: "fr",
        profiles: "Profils",
        links: "Liens",
        products: "Produits",
        sold_out: "Épuisé",
        preorder: "Précommande",
        backorder: "Sur commande",
        was: "Ancien prix :",
        from: "à partir de {}",
        code: "Code QR de cette page",
        report: "Signaler cette page",
        age_question: "Ce contenu est réservé aux personnes de {} ans et plus.",
        age_button: "J’ai {} ans ou plus",
        sensitive_question: "Ce contenu peut ne pas convenir à tout le monde.",
        sensitive_button: "Afficher le contenu",
    },
    Words {
        language: "it",
        profiles: "Profili",
        links: "Link",
        products: "Prodotti",
        sold_out: "Esaurito",
        preorder: "Preordine",
        backorder: "Su ordinazione",
        was: "Prezzo precedente:",
        from: "da {}",
        code: "Codice QR di questa pagina",
        report: "Segnala questa pagina",
        age_question: "Questo contenuto è riservato a chi ha almeno {} anni.",
        age_button: "Ho almeno {} anni",
        sensitive_question: "Questo contenuto potrebbe non essere adatto a tutti.",
        sensitive_button: "Mostra il contenuto",
    },
    Words {
        language: "nl",
        profiles: "Profielen",
        links: "Links",
        products: "Producten",
        sold_out: "Uitverkocht",
        preorder: "Vooruitbestellen",
        backorder: "Later leverbaar",
        was: "Vorige prijs:",
        from: "vanaf {}",
        code: "QR-code van deze pagina",
        report: "Deze pagina melden",
        age_question: "Deze inhoud is voor bezoekers van {} jaar en ouder.",
        age_button: "Ik ben {} jaar of ouder",
        sensitive_question: "Deze inhoud is misschien niet voor iedereen geschikt.",
        sensitive_button: "Inhoud tonen",
    },
    Words {
        language: "pt",
        profiles: "Perfis",
        links: "Links",
        products: "Produtos",
        sold_out: "Esgotado",
        preorder: "Pré-venda",
        backorder: "Sob encomenda",
        was: "Preço anterior:",
        from: "a partir de {}",
        code: "Código QR desta página",
        report: "Denunciar esta página",
        age_question: "Este conteúdo é para pessoas com {} anos ou mais.",
        age_button: "Tenho {} anos ou mais",
        sensitive_question: "Este conteúdo pode não ser adequado a todas as pessoas.",
        sensitive_button: "Mostrar o conteúdo",
    },
];

impl Words {
    /// Returns the words in a page's language, or in English.
    pub(super) fn of(locale: &Locale) -> &'static Self {
        TRANSLATIONS.iter().find(|words| words.is_in(locale)).unwrap_or(&ENGLISH)
    }

    /// Returns the language of the words if the page has another one.
    pub(super) fn foreign(&self, locale: &Locale) -> Option<&'static str> {
        (!self.is_in(locale)).then_some(self.language)
    }

    fn is_in(&self, locale: &Locale) -> bool {
        locale.language() == self.language
    }
}
