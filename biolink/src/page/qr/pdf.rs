//! A PDF of one square page (ISO 32000-1). It has four objects, which are no work for a library.
//!
//! Why: docs/decisions/pages.md, "A PDF is written by hand".

use std::fmt::Write as _;

use super::picture::Bitmap;

/// Returns the operators that draw the image of a page at a place, whose units are modules and whose origin is
/// `height` below.
pub(super) fn place([x, y, width, tall]: [f64; 4], height: f64) -> String {
    format!("q {width:.5} 0 0 {tall:.5} {x:.5} {:.5} cm /L Do Q\n", height - y - tall)
}

/// Returns a page of `size` points with this drawing and its image, compressed.
pub(super) fn encode(size: u16, drawing: &str, image: Option<&Bitmap>) -> Vec<u8> {
    let content = fdeflate::compress_to_vec(drawing.as_bytes());
    let dictionary = format!("<</Length {}/Filter/FlateDecode>>", content.len());
    let resources = if image.is_some() { "/XObject<</L 5 0 R>>" } else { "" };
    let mut objects = vec![
        ("<</Type/Catalog/Pages 2 0 R>>".to_owned(), None),
        ("<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(), None),
        (
            format!(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 {size} {size}]/Resources<<{resources}>>/Contents 4 0 R>>"
            ),
            None,
        ),
        (dictionary, Some(content)),
    ];
    // Four bytes above 127 say that the file is not text (ISO 32000-1, section 7.5.2).
    objects.extend(image.map(|Bitmap { width, height, rgb }| {
        let content = fdeflate::compress_to_vec(rgb);
        let kind = format!("/Type/XObject/Subtype/Image/Width {width}/Height {height}");
        let form = "/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/FlateDecode";
        (format!("<<{kind}{form}/Length {}>>", content.len()), Some(content))
    }));
    let mut pdf = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, (dictionary, content)) in (1..).zip(&objects) {
        // Writing to a `String` cannot fail.
        let _written = writeln!(table, "{:010} 00000 n ", pdf.len());
        pdf.extend(format!("{number} 0 obj\n{dictionary}\n").bytes());
        if let Some(content) = content {
            pdf.extend(b"stream\n");
            pdf.extend(content);
            pdf.extend(b"\nendstream\n");
        }
        pdf.extend(b"endobj\n");
    }
    let start = pdf.len();
    let trailer = format!("trailer\n<</Size {}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1);
    pdf.extend(table.bytes().chain(trailer.bytes()));
    pdf
}
