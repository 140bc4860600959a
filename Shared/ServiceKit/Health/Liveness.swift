import Synchronization

/// Whether the loops of a process continue. Each marks its steps; one without a mark for too long hangs, and `/livez` fails.
///
/// A supervisor restarts a process that hangs, so a long but honest piece of work marks each of its steps.
package final class Liveness: Sendable {
    /// The loop of a service, see ``ServiceContext/serve(store:subscriptions:haveChanged:haveBeenGranted:_:)``.
    static let loop = "loop"
    /// The seconds in which a loop must mark a step.
    static let limit = 15.0
    /// The same while the loop waits for the store or the broker, whose own timeouts are shorter.
    static let waitLimit = 120.0

    private struct Part {
        var markedAt: Moment
        /// The number of waits under way.
        var waits = 0
    }

    private let clock: any WallClock
    private let parts = Mutex<[String: Part]>([:])

    package init(clock: any WallClock) {
        self.clock = clock
    }

    /// Marks a step. The first mark of a part begins its watch.
    package func mark(_ part: String) {
        let now = clock.moment
        parts.withLock { $0[part, default: Part(markedAt: now)].markedAt = now }
    }

    /// Ends the watch of a part.
    package func end(_ part: String) {
        parts.withLock { $0[part] = nil }
    }

    /// Runs `body`, in which the loop may wait for another process. Its begin and its end are steps.
    func waiting<R, E: Error>(_ body: () async throws(E) -> R) async throws(E) -> R {
        guard step(waits: 1) else { return try await body() }
        defer { step(waits: -1) }
        return try await body()
    }

    /// Returns whether the loop is watched.
    @discardableResult
    private func step(waits: Int) -> Bool {
        let now = clock.moment
        return parts.withLock { parts in
            parts[Self.loop]?.waits += waits
            parts[Self.loop]?.markedAt = now
            return parts[Self.loop] != nil
        }
    }

    /// The names of the parts that hang, sorted.
    var hung: [String] {
        let now = clock.moment
        return parts.withLock { parts in
            parts.filter { now.seconds(since: $0.value.markedAt) >= ($0.value.waits > 0 ? Self.waitLimit : Self.limit) }
                .keys.sorted()
        }
    }
}
