import Bus
import Foundation
import MQTT
import NIOCore
import ServiceKit
import TestSupport
import Workouts

@testable import Dashboard

let anna = User("anna")!
let ben = User("ben")!

func sessionKey(_ user: User, _ number: Int) -> SessionKey {
    SessionKey(user, SessionID(UUID(uuidString: "00000000-0000-4000-8000-00000000000\(number)")!))
}

func login(_ user: User, seen: Set<User> = [], id: LoginID = LoginToken().id) -> Login {
    Login(id: id, account: .person(user), password: Secret(""), rights: .init(seen: seen.union([user])))
}

func runID(_ number: Int) -> RunID {
    RunID(UUID(uuidString: "00000000-0000-4000-a000-00000000000\(number)")!)
}

/// A hub with its clock, whose streams a test reads.
struct HubWorld {
    var now = Moment(Timestamp(microseconds: 1_735_689_600_000_000))
    var hub: Hub
    /// What each stream has read, as text.
    var read: [Int: [String]] = [:]
    /// Streams whose task waits in `next`.
    var waiting: Set<Int> = []
    var aborted: Set<Int> = []
    var ended: Set<Int> = []

    init() {
        hub = Hub(now: now)
    }

    mutating func watch(_ watch: Watch, _ login: Login) throws(StreamLimit) -> Int {
        let id = try hub.watch(watch, login, now)
        read[id] = []
        return id
    }

    mutating func publish(_ topic: Topic, _ payload: String) throws(PayloadError) {
        try publish([(topic, payload)])
    }

    /// A batch of the bus.
    mutating func publish(_ messages: [(topic: Topic, payload: String)]) throws(PayloadError) {
        var changed: Set<Int> = []
        for (topic, payload) in messages {
            changed.formUnion(try hub.receive(topic.message(Array(payload.utf8)), now))
        }
        perform(hub.deliver(changed, now))
    }

    /// The stream's task asks for events until it has to wait.
    mutating func drain(_ id: Int) {
        guard !waiting.contains(id), !ended.contains(id) else { return }
        while true {
            switch hub.next(id, now) {
            case .events(let events): take(events, id)
            case .end:
                ended.insert(id)
                return
            case .wait:
                waiting.insert(id)
                return
            }
        }
    }

    mutating func tick(_ seconds: Double = 0.1) {
        now = now + seconds
        perform(hub.tick(now))
    }

    mutating func perform(_ actions: [HubAction]) {
        for action in actions {
            switch action {
            case .deliver(let id, let events):
                precondition(waiting.remove(id) != nil, "delivered to a stream that does not wait")
                take(events, id)
            case .abort(let id): aborted.insert(id)
            }
        }
    }

    private mutating func take(_ events: [ByteBuffer], _ id: Int) {
        read[id, default: []] += events.map { String(buffer: $0) }
    }

    func names(_ id: Int) -> [String] {
        read[id, default: []].map { String($0.dropFirst(7).prefix { $0 != "\n" }) }
    }

    /// The data of the stream's last event of a name.
    func last(_ name: EventName, _ id: Int) -> String? {
        let head = "event: \(name.rawValue)\ndata: "
        return read[id]?.last { $0.hasPrefix(head) }.map { String($0.dropFirst(head.count).dropLast(2)) }
    }
}
