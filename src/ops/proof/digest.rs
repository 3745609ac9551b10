//! placeholder
use crate::{Answer, Error, Lens};
/// d
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub struct DigestRequest {}
/// d
#[derive(serde::Serialize, schemars::JsonSchema)]
pub struct ContentDigest {
    /// d
    pub whole: String,
}
/// d
pub fn projected(_: &Lens) -> String {
    String::new()
}
/// d
pub fn digest(lens: &Lens, _: &DigestRequest) -> Result<Answer<ContentDigest>, Error> {
    Ok(crate::budget::Meter::list(crate::ops::look::question("digest", lens)).answer(
        ContentDigest { whole: String::new() },
        Vec::new(),
        None,
    ))
}
