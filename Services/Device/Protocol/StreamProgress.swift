/// What an acknowledgement says about a stream.
enum StreamProgress: Equatable {
    case nothing
    /// Everything below this number is on the receiver's disk.
    case moved(Int)
    /// The receiver has only what is below this number, though it acknowledged more: it was restored from a backup. The
    /// stream is to take the items back.
    case fellBack(Int)
    case failed(StreamFailure)
}
