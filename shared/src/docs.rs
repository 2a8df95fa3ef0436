//! `GET /docs` and `GET /problems/{code}`: the reference for people, made from the tables that the
//! gateway works by. Pages stand alone: no script, nothing fetched from elsewhere. maud escapes
//! what is put into them.

mod landing;
mod layout;
mod problem_page;
mod reference;
mod script;

pub use landing::landing;
pub(crate) use layout::{Page, Section, respond};
pub use problem_page::problem_page;
pub use reference::reference;
pub use script::script;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{policy::Policy, problem::Code, tier::Tier, tool::Tool};

    const SERVER: &str = "https://api.example.com";

    #[test]
    fn reference_names_every_tool_tier_and_problem() {
        let page = reference(SERVER).body;
        for tool in Tool::ALL {
            assert!(page.contains(&format!("/v1/{tool}/")) && page.contains(tool.purpose()), "{tool}");
        }
        for tier in Tier::ALL {
            assert!(page.contains(&format!("<td>{}</td>", Policy::for_tier(tier).minute)), "{tier}");
        }
        for code in Code::ALL {
            assert!(page.contains(&format!("href=\"/problems/{}\"", code.as_str())), "{}", code.as_str());
        }
    }

    #[test]
    fn every_problem_has_a_page() {
        for code in Code::ALL {
            let page = problem_page(code).body;
            assert!(page.contains(code.as_str()) && page.contains(&code.status().to_string()));
            assert!(page.contains("<html lang=\"en\">") && page.contains("<main"), "{}", code.as_str());
        }
    }

    #[test]
    fn page_loads_nothing_and_its_policy_allows_its_style_only() {
        for page in [landing(), reference(SERVER), problem_page(Code::KeyMissing)] {
            let html = &page.body;
            assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("style=\""));
            assert_eq!(html.matches("<style>").count(), 1);
            let policy = page.headers.iter().find(|(name, _)| *name == "content-security-policy").unwrap();
            assert!(policy.1.starts_with("default-src 'none'; style-src 'sha256-"), "{policy:?}");
        }
    }

    #[test]
    fn text_in_a_page_is_escaped() {
        let page = reference("https://a\"><script>alert(1)</script>").body;
        assert!(!page.contains("<script"), "the host comes from the request");
    }
}
