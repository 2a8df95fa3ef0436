//! The few words on a page that are not its owner's, in the languages we have them in.

use crate::page::document::Locale;

/// The words in one language. `{}` stands for a price, or a number of years from 13 to 25, with which each text is
/// right: Polish has the genitive, because *mieć 22* takes another form of the noun than *mieć 18*.
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

const TRANSLATIONS: [Words; 14] = [
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
        language: "ja",
        profiles: "プロフィール",
        links: "リンク",
        products: "商品",
        sold_out: "売り切れ",
        preorder: "予約受付中",
        backorder: "お取り寄せ",
        was: "セール前の価格:",
        from: "{}から",
        code: "このページのQRコード",
        report: "このページを報告",
        age_question: "このコンテンツは{}歳以上の方を対象としています。",
        age_button: "{}歳以上です",
        sensitive_question: "一部の方が不快に感じる内容が含まれている可能性があります。",
        sensitive_button: "表示する",
    },
    Words {
        language: "ko",
        profiles: "프로필",
        links: "링크",
        products: "상품",
        sold_out: "품절",
        preorder: "예약 판매",
        backorder: "입고 후 발송",
        was: "이전 가격:",
        from: "{}부터",
        code: "이 페이지의 QR 코드",
        report: "이 페이지 신고하기",
        age_question: "이 콘텐츠는 {}세 이상만 볼 수 있습니다.",
        age_button: "{}세 이상입니다",
        sensitive_question: "일부 방문자에게 적합하지 않은 내용이 포함되어 있을 수 있습니다.",
        sensitive_button: "콘텐츠 보기",
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
        language: "pl",
        profiles: "Profile",
        links: "Linki",
        products: "Produkty",
        sold_out: "Wyprzedane",
        preorder: "Przedsprzedaż",
        backorder: "Dostępne później",
        was: "Poprzednia cena:",
        from: "od {}",
        code: "Kod QR tej strony",
        report: "Zgłoś tę stronę",
        age_question: "Te treści są przeznaczone dla osób w wieku co najmniej {} lat.",
        age_button: "Jestem w wieku co najmniej {} lat",
        sensitive_question: "Te treści mogą nie być odpowiednie dla wszystkich.",
        sensitive_button: "Pokaż treści",
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
    Words {
        language: "sv",
        profiles: "Profiler",
        links: "Länkar",
        products: "Produkter",
        sold_out: "Slutsåld",
        preorder: "Kan förbeställas",
        backorder: "Levereras senare",
        was: "Tidigare pris:",
        from: "från {}",
        code: "QR-kod för den här sidan",
        report: "Anmäl den här sidan",
        age_question: "Det här innehållet är för besökare som är {} år eller äldre.",
        age_button: "Jag är {} år eller äldre",
        sensitive_question: "Det här innehållet passar kanske inte alla.",
        sensitive_button: "Visa innehållet",
    },
    Words {
        language: "tr",
        profiles: "Profiller",
        links: "Bağlantılar",
        products: "Ürünler",
        sold_out: "Tükendi",
        preorder: "Ön sipariş",
        backorder: "Daha sonra gönderilir",
        was: "Önceki fiyat:",
        from: "en düşük {}",
        code: "Bu sayfanın QR kodu",
        report: "Bu sayfayı bildir",
        age_question: "Bu içerik {} yaş ve üzeri ziyaretçiler içindir.",
        age_button: "{} yaşında veya daha büyüğüm",
        sensitive_question: "Bu içerik herkes için uygun olmayabilir.",
        sensitive_button: "İçeriği göster",
    },
    Words {
        language: "zh",
        profiles: "社交主页",
        links: "链接",
        products: "商品",
        sold_out: "已售罄",
        preorder: "预售",
        backorder: "到货后发货",
        was: "原价：",
        from: "{}起",
        code: "本页的二维码",
        report: "举报此页面",
        age_question: "此内容仅面向年满 {} 周岁的访客。",
        age_button: "我已年满 {} 周岁",
        sensitive_question: "此内容可能不适合所有人观看。",
        sensitive_button: "显示内容",
    },
    Words {
        language: "zh-Hant",
        profiles: "社群主頁",
        links: "連結",
        products: "商品",
        sold_out: "已售完",
        preorder: "預購",
        backorder: "到貨後出貨",
        was: "原價：",
        from: "{}起",
        code: "本頁的 QR Code",
        report: "檢舉此頁面",
        age_question: "此內容僅限年滿 {} 歲的訪客。",
        age_button: "我已年滿 {} 歲",
        sensitive_question: "此內容可能不適合所有人觀看。",
        sensitive_button: "顯示內容",
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
        match locale.is_traditional_chinese() {
            true => self.language == "zh-Hant",
            false => locale.language() == self.language,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts in the order of [`Words`].
    fn texts(words: &Words) -> [&'static str; 14] {
        let Words {
            language: _, profiles, links, products, sold_out, preorder, backorder, was, from, ..
        } = words;
        let Words { code, report, age_question, age_button, sensitive_question, sensitive_button, .. } =
            words;
        [
            profiles,
            links,
            products,
            sold_out,
            preorder,
            backorder,
            was,
            from,
            code,
            report,
            age_question,
            age_button,
            sensitive_question,
            sensitive_button,
        ]
    }

    #[test]
    fn each_language_has_each_text_in_its_own_script() {
        let languages: Vec<_> = TRANSLATIONS.iter().map(|words| words.language).collect();
        let expected =
            ["ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "sv", "tr", "zh", "zh-Hant"];
        assert_eq!(languages, expected, "docs/pages.md lists them");
        for words in &TRANSLATIONS {
            for (at, (text, english)) in texts(words).into_iter().zip(texts(&ENGLISH)).enumerate() {
                let context = format!("{}: {text}", words.language);
                assert!(!text.is_empty() && text == text.trim(), "{context}");
                let places = text.matches("{}").count();
                assert_eq!(places, usize::from(matches!(at, 7 | 10 | 11)), "{context}");
                // Links are called so in German, Dutch and Portuguese too.
                assert!(text != english || text == "Links", "{context}");
                let is_of = |c: char| match words.language {
                    "ar" => ('\u{600}'..='\u{6ff}').contains(&c),
                    "ja" => ('\u{3040}'..='\u{30ff}').contains(&c) || ('\u{4e00}'..='\u{9fff}').contains(&c),
                    "ko" => ('\u{ac00}'..='\u{d7a3}').contains(&c),
                    "zh" | "zh-Hant" => ('\u{4e00}'..='\u{9fff}').contains(&c),
                    _ => c.is_alphabetic() && c < '\u{250}',
                };
                // "QR" and "QR Code" are called so everywhere.
                let own = text.replace("QR Code", "").replace("QR", "");
                let mut letters = own.chars().filter(|c| c.is_alphabetic()).peekable();
                assert!(letters.peek().is_some() && letters.all(is_of), "{context}");
            }
        }
    }

    /// Each has a character that the other script does not.
    #[test]
    fn chinese_is_written_as_the_region_of_the_page_writes() {
        for (locale, sold_out) in [
            ("zh", "已售罄"),
            ("zh-CN", "已售罄"),
            ("zh-Hans-HK", "已售罄"),
            ("zh-TW", "已售完"),
            ("zh-hk", "已售完"),
            ("zh-Hant", "已售完"),
            ("ZH-Hant-CN", "已售完"),
        ] {
            let locale = Locale::parse(locale).unwrap();
            let words = Words::of(&locale);
            assert_eq!((words.sold_out, words.foreign(&locale)), (sold_out, None), "{locale:?}");
        }
        assert_eq!(Words::of(&Locale::parse("nan-TW").unwrap()).language, "en");
    }
}
