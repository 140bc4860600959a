package import Bus
package import Workouts

/// What a service makes of the streams of items that it owns. Everything else is the same for all such services: taking
/// each item once, making it durable, acknowledging it, publishing what is made of it, and letting go of it.
package protocol StreamWork: Sendable {
    associatedtype Item: StreamItem where Item.Field: PayloadField
    associatedtype Live: LiveFold where Live.Item == Item
    /// What stands in the summary besides its revisions.
    associatedtype Totals: Codable & Equatable & Sendable

    /// The executable's name.
    static var service: String { get }
    /// What the names of its Prometheus metrics begin with.
    static var metricsPrefix: String { get }
    static var kind: StreamName.Kind { get }
    /// What else the live fold listens to, and the subscription for it.
    static var companion: (topic: SessionTopic, filter: TopicFilter.Sessions)? { get }

    /// What is published of a session that is over, a pure function of all its items and its state.
    static func finish(_ streams: [Device: [Item]], of state: SessionState) -> (totals: Totals, rows: FinalRows)
}

/// A running fold over the items of a session that goes on.
package protocol LiveFold: Sendable {
    associatedtype Item
    /// What the companion topic says.
    associatedtype Heard: Sendable

    /// Whether the fold is that of a summary of the same items; otherwise it is made anew from all of them.
    var isExact: Bool { get }
    /// The time of the newest item that it knows of.
    var newest: Timestamp? { get }
    /// How many kilometres or miles are done, and when the last of them was, as far as this service says so.
    var splitsToAnnounce: (count: Int, at: Timestamp?) { get }

    /// The fold over no items.
    init(_ state: SessionState)

    /// The fold over all items of a session.
    ///
    /// - Parameters:
    ///   - streams: every item of each device, in the order of their numbers.
    ///   - shown: the fold until now.
    init(streams: [Device: [Item]], state: SessionState, now: Timestamp, shown: Self?)

    /// Whether a session's new state asks for another fold over the items there are.
    static func isOther(_ state: SessionState, than known: SessionState) -> Bool

    /// Takes consecutive items of a device.
    mutating func add(_ items: [Item], from device: Device, segments: [Segment], now: Timestamp)

    /// Reads a payload of the companion topic.
    static func read(_ payload: ArraySlice<UInt8>) throws(PayloadError) -> Heard

    /// Takes what the companion topic says. Returns whether that changes what is published.
    mutating func hear(_ heard: Heard, of state: SessionState) -> Bool

    /// What is published, as of the newest item.
    ///
    /// - Parameters:
    ///   - count: items stored.
    ///   - isSilent: nothing came for 15 s, so that every live value is unknown.
    func payload(_ state: SessionState, revision: Int64, count: Int, isSilent: Bool) -> [UInt8]
}
