/// Why a file cannot be read as FIT. Nothing can be done with the file but to get it again; the description tells a
/// person what is wrong, and at which byte, counted from the first byte of the file.
package enum FITError: Error, Equatable, CustomStringConvertible {
    /// No FIT file begins here: it is some other kind of file, or something follows a FIT file that is not one.
    case notFIT(offset: Int)
    /// The file ends, or says that it ends, before what began at `offset` is complete.
    case truncated(offset: Int, missing: Int)
    /// The file contradicts itself.
    case corrupt(offset: Int, reason: String)
    /// The file is sound, but no session in it says when it started: it is not a recorded activity.
    case noSession

    package var description: String {
        switch self {
        case .notFIT(let offset): "not a FIT file: no .FIT signature in the header at byte \(offset)"
        case .truncated(let offset, let missing):
            "the FIT file is cut off: what begins at byte \(offset) lacks \(missing) bytes"
        case .corrupt(let offset, let reason): "the FIT file is damaged at byte \(offset): \(reason)"
        case .noSession: "the FIT file is not a recorded activity: no session in it has a start time"
        }
    }
}
