package import Foundation

extension TimeZone {
    /// Whether a text names a zone of the IANA database by area and place, such as `Europe/Berlin`, or is `UTC` or `GMT`.
    ///
    /// Foundation itself also takes offsets, `GMT+3`, and abbreviations, `PST`, which are no zones that others know.
    package static func isIANA(_ identifier: String) -> Bool {
        (identifier.contains("/") || ["UTC", "GMT"].contains(identifier)) && TimeZone(identifier: identifier) != nil
    }
}
