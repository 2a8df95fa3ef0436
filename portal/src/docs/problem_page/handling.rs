//! Code that handles a problem.

use shared::problem::{Code, Retry, codes};

pub(super) fn javascript(code: Code) -> String {
    let action = match (code, code.retry()) {
        (codes::FIELDS_INVALID, _) => {
            "const { errors } = await response.json();\n  for (const { pointer, detail } of errors) console.error(pointer, detail);"
        }
        (_, Retry::Later) => {
            "const seconds = Number(response.headers.get(\"Retry-After\") ?? 1);\n  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));\n  response = await fetch(url, options);"
        }
        (_, Retry::AfterRead) => {
            "const current = await fetch(url, { headers: { \"X-API-Key\": key } });\n  options.headers[\"If-Match\"] = current.headers.get(\"ETag\");\n  response = await fetch(url, options); // With the change made on `current`."
        }
        (_, Retry::Never) => {
            "const { title, detail, request_id: id } = await response.json();\n  throw new Error(`${title}: ${detail} (${id})`);"
        }
    };
    format!(
        "let response = await fetch(url, options);\nif (response.headers.get(\"X-Gateway-Problem\") === \"{}\") {{\n  {action}\n}}",
        code.as_str()
    )
}

pub(super) fn python(code: Code) -> String {
    let action = match (code, code.retry()) {
        (codes::FIELDS_INVALID, _) => {
            "for fault in json.load(error)[\"errors\"]:\n        print(fault[\"pointer\"], fault[\"detail\"])"
        }
        (_, Retry::Later) => {
            "time.sleep(float(error.headers.get(\"Retry-After\", 1)))\n    response = urllib.request.urlopen(request)"
        }
        (_, Retry::AfterRead) => {
            "request.headers[\"If-match\"] = read(request.full_url).headers[\"ETag\"]\n    response = urllib.request.urlopen(request)  # With the change made on what was read."
        }
        (_, Retry::Never) => {
            "problem = json.load(error)\n    raise RuntimeError(f\"{problem['title']}: {problem['detail']} ({problem['request_id']})\") from error"
        }
    };
    format!(
        "try:\n    response = urllib.request.urlopen(request)\nexcept urllib.error.HTTPError as error:\n    if error.headers.get(\"X-Gateway-Problem\") != \"{}\":\n        raise\n    {action}",
        code.as_str()
    )
}
