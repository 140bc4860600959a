import Bus

/// Which revisions of a session's retained topics this process published since the connection began.
struct Echoes: Equatable {
    var state = PublishedRevisions()
    var workout = PublishedRevisions()
}

/// The same of a user's topics.
struct UserEchoes: Equatable {
    var current = PublishedRevisions()
    var profile = PublishedRevisions()
    var plans = PublishedRevisions()
}
