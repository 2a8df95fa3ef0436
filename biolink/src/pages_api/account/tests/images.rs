//! Images that an account uploads.

use super::*;
use crate::page::ImageFile;

fn file(number: u8, bytes: u32) -> ImageFile {
    let id = ImageId::new([number; 12]);
    ImageFile { id, media_type: "image/png".to_owned(), width: 2, height: 3, bytes }
}

impl World {
    fn upload(&mut self, number: u8, bytes: u32) -> Got {
        let added = self.call(1, Operation::AddImage(file(number, bytes)));
        if added.status < 300 {
            assert!(self.store(number));
        }
        added
    }

    fn store(&mut self, number: u8) -> bool {
        let now = self.now();
        self.accounts.get_mut(&id(1)).unwrap().0.image_stored(&ImageId::new([number; 12]), now)
    }

    fn listed(&mut self) -> usize {
        self.call(1, Operation::ListImages).body["data"].as_array().unwrap().len()
    }
}

#[test]
fn image_is_stored_once_listed_exported_and_deleted() {
    let mut world = World::default();
    let added = world.upload(7, 100);
    assert_eq!(
        (added.status, &added.body["type"], &added.body["height"]),
        (201, &json!("image/png"), &json!(3))
    );
    let url = added.body["url"].as_str().unwrap().to_owned();
    assert_eq!(url, format!("https://p.example/i/{}", ImageId::new([7; 12])));
    assert_eq!(world.upload(7, 100).status, 200, "the same file again");
    assert_eq!(world.listed(), 1);
    world.now += 3_600_000;
    world.deliver(1);
    assert_eq!(world.files, [], "what is stored stays");
    let export = world.accounts[&id(1)].0.export_images("https://p.example");
    assert!(export.contains(&url), "{export}");
    let image = ImageId::new([7; 12]);
    assert_eq!(world.call(1, Operation::ReadImage(image)).body, added.body);

    assert_eq!(world.call(1, Operation::DeleteImage(image)).status, 204);
    assert_eq!(world.call(1, Operation::ReadImage(image)).status, 404);
    let refused = world.call(1, Operation::AddImage(file(7, 100)));
    assert_eq!(refused.status, 503, "its file may be deleted at any moment");
    world.deliver(1);
    assert_eq!(world.files, [(image, ImageFate::Drop)]);
    assert_eq!(world.upload(7, 100).status, 201);
}

#[test]
fn image_whose_file_never_came_leaves_nothing() {
    let mut world = World::default();
    assert_eq!(world.call(1, Operation::AddImage(file(7, 100))).status, 201);
    assert_eq!(world.listed(), 0, "its file is not stored");
    world.now += 900_000;
    world.deliver(1);
    assert_eq!(world.files, [(ImageId::new([7; 12]), ImageFate::Drop)]);
    assert!(!world.store(7), "it came too late");
    world.deliver(1);
    assert_eq!(world.files.len(), 2, "so it is deleted again");
}

#[test]
fn images_are_limited_in_number_and_bytes() {
    let mut world = World::default();
    for number in 0..50 {
        assert_eq!(world.upload(number, 2_097_152).status, 201);
    }
    let refused = world.upload(50, 1);
    assert_eq!((refused.status, &refused.body["code"]), (403, &json!("image-limit-reached")));
    let usage = world.accounts[&id(1)].0.describe_image_usage();
    assert_eq!((&usage["used"], &usage["bytes_used"]), (&json!(50), &json!(policy::IMAGE_BYTES)));

    let mut world = World::default();
    for number in 0..200 {
        assert_eq!(world.upload(number, 1).status, 201);
    }
    assert_eq!(world.upload(200, 1).status, 403);
}

#[test]
fn page_shows_images_of_its_account_only() {
    let mut world = World::default();
    let url = world.upload(7, 100).body["url"].as_str().unwrap().to_owned();
    let foreign = ImageId::new([8; 12]);
    let refused =
        world.create(1, json!({"title": "Ada", "seo": {"image": {"url": format!("/i/{foreign}")}}}));
    assert_eq!((refused.status, &refused.body["errors"][0]["pointer"]), (422, &json!("#/seo/image/url")));

    let created = world.create(1, json!({"title": "Ada", "slug": "ada", "status": "published",
        "avatar": {"url": url, "alt": "Ada"},
        "products": {"items": [{"title": "A", "url": "https://shop.example", "image": {"url": "https://cdn.example/a.png"}}]}}));
    assert_eq!((created.status, &created.body["avatar"]["url"]), (201, &json!(url)));
    assert_eq!(created.body["warnings"][0]["hosts"], json!(["cdn.example"]));
    let page = page_id(&created);
    world.deliver(1);
    let Served::Page { document, .. } = world.visit("ada") else { panic!() };
    assert_eq!(document.avatar.unwrap().url.to_string(), format!("/i/{}", ImageId::new([7; 12])));

    let again = world.edit(1, page, PageEdit::Replace(created.body.to_string()));
    assert_eq!((again.status, &again.body["revision"]), (200, &json!(1)), "{}", again.body);
    world.call(1, Operation::DeleteImage(ImageId::new([7; 12])));
    let renamed = world.edit(1, page, PageEdit::Patch(r#"{"title":"A","products":null}"#.to_owned()));
    assert_eq!(
        (renamed.status, &renamed.body["warnings"]),
        (200, &json!([])),
        "what is stored is not checked"
    );
}

#[test]
fn images_go_with_the_account_and_are_hidden_with_it() {
    let mut world = World::default();
    let image = ImageId::new([7; 12]);
    world.upload(7, 100);
    world.call(1, Operation::Suspend(None, None));
    world.deliver(1);
    assert_eq!(world.call(1, Operation::AddImage(file(8, 1))).status, 403);
    world.call(1, Operation::Resume(None));
    world.deliver(1);
    assert_eq!(world.files, [(image, ImageFate::Hide), (image, ImageFate::Show)]);
    world.call(1, Operation::Erase(Some(id(1).to_string())));
    world.deliver(1);
    assert_eq!((world.listed(), world.files.last()), (0, Some(&(image, ImageFate::Drop))));
}
