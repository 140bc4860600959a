import Bus
import DequeModule
import NIOCore
import OrderedCollections
import ServiceKit
import Workouts

/// The hub's side of one viewer: a slot for each topic, where the newest event wins, and never a queue.
struct LiveStream {
    /// Announcements, and late replies, that wait at most; the oldest go first.
    static let announcementLimit = 16
    /// The minimum seconds between two writes.
    static let interval = 0.25
    static let beatInterval = 10.0
    /// The seconds before a beat is due in which it goes with other events: one of its own would delay those that follow it.
    static let beatAdvance = 2.5
    /// A write that takes longer, in seconds, ends the stream.
    static let writeLimit = 20.0

    enum Slot: Hashable {
        case topic(Topic)
        case services, bus, beat, overview, ready, seen, end
    }

    /// The task of a stream.
    enum Phase: Equatable {
        /// It awaits events.
        case waiting
        /// It writes events, or has not asked for any, since then.
        case writing(since: Moment)
    }

    let watch: Watch
    let login: LoginID
    /// The page that opened it; `nil` if that does not say.
    let page: String?
    /// `nil` for the operator.
    let user: User?
    var phase: Phase
    private var slots: OrderedDictionary<Slot, EventFrame> = [:]
    private var announcements: Deque<EventFrame> = []
    private var replies: Deque<EventFrame> = []
    private(set) var isEnding = false
    /// Whether its viewer has, or gets next, everything that the stream begins with.
    private(set) var isReady = false
    private var tookAt: Moment?
    private(set) var beatDue: Moment

    init(_ watch: Watch, _ login: Login, page: String?, now: Moment) {
        self.watch = watch
        self.page = page
        self.login = login.id
        user = login.user
        phase = .writing(since: now)
        beatDue = now + Self.beatInterval
    }

    var isEmpty: Bool { slots.isEmpty && announcements.isEmpty && replies.isEmpty }

    /// The number of events that wait.
    var count: Int { slots.count + announcements.count + replies.count }

    func isDue(_ now: Moment) -> Bool {
        guard !isEnding else { return true }
        return !isEmpty && tookAt.map { now.seconds(since: $0) >= Self.interval } ?? true
    }

    func isStuck(_ now: Moment) -> Bool {
        guard case .writing(let since) = phase else { return false }
        return now.seconds(since: since) > Self.writeLimit
    }

    mutating func put(_ frame: EventFrame, in slot: Slot) {
        guard !isEnding else { return }
        switch frame.name {
        case .announcements: Self.append(frame, to: &announcements)
        case .reply: Self.append(frame, to: &replies)
        default: slots[slot] = frame
        }
    }

    func isBeatNear(_ now: Moment) -> Bool { now.seconds(since: beatDue) >= -Self.beatAdvance && !isEnding }

    mutating func beat(_ frame: EventFrame, _ now: Moment) {
        beatDue = now + Self.beatInterval
        put(frame, in: .beat)
    }

    mutating func putReady() {
        isReady = true
        put(.json(.ready, [String: String]()), in: .ready)
    }

    mutating func end(_ frame: EventFrame) {
        guard !isEnding else { return }
        put(frame, in: .end)
        isEnding = true
    }

    /// Takes all that waits; `nil` at the end.
    mutating func take(_ now: Moment) -> [ByteBuffer]? {
        guard !isEmpty else { return nil }
        let frames = slots.values.map(\.wire) + announcements.map(\.wire) + replies.map(\.wire)
        slots = [:]
        announcements = []
        replies = []
        tookAt = now
        phase = .writing(since: now)
        return frames
    }

    private static func append(_ frame: EventFrame, to queue: inout Deque<EventFrame>) {
        if queue.count == announcementLimit { queue.removeFirst() }
        queue.append(frame)
    }
}
