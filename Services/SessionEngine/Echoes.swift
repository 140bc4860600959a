/// Which revisions of a session's retained topics this process published since the connection began.
struct Echoes: Equatable {
    /// The first revision of `state` since then.
    var state: Int64?
    /// The first revision of `workout` since then.
    var workout: Int64?
}

/// The same of a user's topics.
struct UserEchoes: Equatable {
    var current: Int64?
    var profile: Int64?
}
