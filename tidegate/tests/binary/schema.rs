//! `tidegate schema`.

use serde_json::Value;

use crate::process::{run, stdout};

#[test]
fn the_schemas_of_both_files_are_printed() {
    for (arguments, title) in [
        (&["schema"][..], "a policy file"),
        (&["schema", "--keys"], "a keys file"),
    ] {
        let output = run(arguments.iter().copied());
        assert!(output.status.success());
        let schema: Value = serde_json::from_str(stdout(&output)).unwrap();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["title"], title);
    }
}
