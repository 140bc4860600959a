import Bus
import Client
import Foundation
import ServiceKit
import ServiceLifecycle
import Workouts

/// Many simulated runners over one connection, each a user with a session of its own.
///
/// Runners have no queue files: a load generator that syncs a file for each runner measures its own disk. The starts of the
/// next fleet replace sessions that a killed fleet leaves unfinished; other sessions expire.
struct FleetService: Service {
    let context: ServiceContext
    let terminal: Terminal
    let keys: [SessionKey]
    /// The device of each runner.
    let device: Device
    let seed: UInt64
    /// Samples a second.
    let rate: Double
    /// Seconds; without it the runs never end.
    let duration: Int?
    /// Times real time; 0 is as fast as the items are acknowledged.
    let speed: Double
    /// The number of runners in each virtual run; `nil` without virtual runs. The last run may be smaller.
    var runSize: Int?

    /// Returns when each workout holds all items of its runner.
    ///
    /// - Throws: ``FleetStopped`` if some do not.
    func run() async throws {
        var loop = FleetLoop(service: self)
        terminal.output("\(keys.count) sessions, device \(device)\n")
        do {
            try await context.follow(loop.subscriptions) { event in try await loop.handle(event) }
        } catch {
            throw loop.explain(error)
        }
    }

    /// `runner-0001` and so on, each with a new session.
    static func keys(_ count: Int) -> [SessionKey] {
        (1...count).map { number in
            guard let user = User(String(format: "runner-%04d", number)) else {
                preconditionFailure("the name matches the pattern")
            }
            return SessionKey(user, SessionID(UUID()))
        }
    }
}

/// Why a fleet stopped, or some of its runners failed.
struct FleetStopped: Error, CustomStringConvertible {
    let description: String
}

extension FleetService {
    /// The runner of a number, which begins at its own time.
    func playback(_ number: Int, _ key: SessionKey, _ beganAt: Moment, _ ticket: RunTicket? = nil) -> Playback {
        let seed = seed &+ UInt64(number)
        let header = QueueHeader(
            user: key.user, session: key.session, device: device, beganAt: beganAt.wallClock,
            source: .simulation(seed: seed, rate: rate), ticket: ticket)
        return Playback(
            header: header, contents: QueueContents(),
            steps: SimulatedRun(
                seed: seed, start: beganAt.wallClock, duration: duration, rate: rate, replaces: true, ticket: ticket),
            pace: Pace(beganAt: beganAt, origin: beganAt.wallClock, speed: speed), client: context.client,
            newID: { CommandID(UUID()) })
    }

    /// The way of each runner into a virtual run, in the order of ``keys``: the first of each run creates it.
    func entries() -> [RunEntry] {
        guard let runSize else { return [] }
        return stride(from: 0, to: keys.count, by: runSize).flatMap { first in
            let users = keys[first..<min(first + runSize, keys.count)].map(\.user)
            // A run has two runners: one left over runs with a pacing partner.
            let proposal = RunProposal(
                invite: Array(users.dropFirst()), ghosts: users.count == 1 ? [.pace(345)] : [])
            let run = RunID(UUID())
            return users.enumerated().map { number, user in
                RunEntry(
                    user: user, run: run, accepts: true, way: number == 0 ? .create(proposal) : .wait,
                    client: context.client, newID: { CommandID(UUID()) })
            }
        }
    }
}
