package import ServiceKit
import Synchronization
package import Workouts

/// Clocks that only a test advances or steps.
package final class ManualClock: WallClock {
    /// No task began to wait in time.
    package struct NoSleeper: Error {}

    private struct Sleeper {
        let deadline: Moment
        let number: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var moment: Moment
        var sleepers: [Sleeper] = []
        var observers: [Int: (wanted: Int, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var canceled: Set<Int> = []
        var numbers = 0
    }

    private let state: Mutex<State>

    /// Begins at 2025-01-01T00:00:00Z by default.
    package init(now: Timestamp = Timestamp(microseconds: 1_735_689_600_000_000)) {
        state = Mutex(State(moment: Moment(now)))
    }

    package var moment: Moment { state.withLock(\.moment) }

    package var now: Timestamp { moment.wallClock }

    /// The number of waiting tasks.
    package var sleeperCount: Int { state.withLock(\.sleepers.count) }

    /// Moves both clocks forwards and wakes the tasks whose wait is over: the earliest deadline first, tasks with the same
    /// deadline in the order of their waits. A task that waits again waits for the next advance.
    package func advance(by duration: Duration) {
        precondition(duration >= .zero, "uptime never moves backwards; use step(by:)")
        let due = state.withLock { state in
            state.moment = state.moment.advanced(by: duration)
            let now = state.moment
            let due = state.sleepers.filter { $0.deadline <= now }
            state.sleepers.removeAll { $0.deadline <= now }
            return due.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Sets the wall clock forwards or backwards. The uptime is unchanged.
    package func step(by duration: Duration) {
        state.withLock { state in
            state.moment = Moment(
                wallClock: state.moment.wallClock.advanced(by: duration), uptime: state.moment.uptime)
        }
    }

    package func wait(for duration: Duration) async throws {
        let deadline = moment.advanced(by: duration)
        let number = nextNumber()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let sleeper = Sleeper(deadline: deadline, number: number, continuation: continuation)
                settle(sleeper)
            }
        } onCancel: {
            cancel(number)
        }
    }

    /// Returns once at least `count` tasks wait.
    /// - Throws: `NoSleeper` after `bound` of real time.
    package func waitForSleepers(_ count: Int = 1, bound: Duration = hangLimit) async throws {
        let number = nextNumber()
        let alarm = Task {
            try await Task.sleep(for: bound)
            cancel(number)
        }
        defer { alarm.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if state.sleepers.count >= count { return .success(()) }
                    if state.canceled.remove(number) != nil { return .failure(NoSleeper()) }
                    state.observers[number] = (count, continuation)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            cancel(number)
        }
    }

    private func nextNumber() -> Int {
        state.withLock { state in
            state.numbers += 1
            return state.numbers
        }
    }

    private func settle(_ sleeper: Sleeper) {
        let (outcome, observers) = state.withLock {
            state -> (Result<Void, any Error>?, [CheckedContinuation<Void, any Error>]) in
            if state.canceled.remove(sleeper.number) != nil { return (.failure(CancellationError()), []) }
            if sleeper.deadline <= state.moment { return (.success(()), []) }
            state.sleepers.append(sleeper)
            let count = state.sleepers.count
            let satisfied = state.observers.filter { $0.value.wanted <= count }
            for number in satisfied.keys { state.observers[number] = nil }
            return (nil, satisfied.values.map(\.continuation))
        }
        if let outcome { sleeper.continuation.resume(with: outcome) }
        for observer in observers { observer.resume() }
    }

    /// Wakes the sleeper or observer with this number with an error, or records that it must not start.
    private func cancel(_ number: Int) {
        let (continuation, error) = state.withLock {
            state -> (CheckedContinuation<Void, any Error>?, any Error) in
            if let index = state.sleepers.firstIndex(where: { $0.number == number }) {
                return (state.sleepers.remove(at: index).continuation, CancellationError())
            }
            if let observer = state.observers.removeValue(forKey: number) {
                return (observer.continuation, NoSleeper())
            }
            state.canceled.insert(number)
            return (nil, NoSleeper())
        }
        continuation?.resume(throwing: error)
    }
}

extension Moment {
    /// A moment of a wall clock that never steps: a second of uptime is a second of it.
    package init(_ wallClock: Timestamp) {
        let start = Timestamp(microseconds: 1_577_836_800_000_000)
        self.init(wallClock: wallClock, uptime: start.duration(to: wallClock))
    }

    /// The same uptime after the wall clock has stepped.
    package func stepped(by seconds: Double) -> Moment { Moment(wallClock: wallClock + seconds, uptime: uptime) }
}
