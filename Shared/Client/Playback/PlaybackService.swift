import Foundation
package import ServiceKit
import ServiceLifecycle
package import Workouts

/// Plays scripts one after the other, each into a session of its own, until its finished workout holds all of its items.
package struct PlaybackService: Service {
    let context: ServiceContext
    let terminal: Terminal
    let folder: QueueFolder
    /// The session of the first script.
    package let key: SessionKey
    package let device: Device
    /// At least one.
    package let scripts: [PlaybackScript]
    /// Times real time; 0 is as fast as the items are acknowledged.
    let speed: Double
    /// Whether another device starts, pauses and ends the session.
    let joins: Bool
    /// The runner's part in a virtual run, for a new queue.
    let ticket: RunTicket?

    package init(
        context: ServiceContext, terminal: Terminal, folder: QueueFolder, key: SessionKey, device: Device,
        scripts: [PlaybackScript], speed: Double = 1, joins: Bool = false, ticket: RunTicket? = nil
    ) {
        self.context = context
        self.terminal = terminal
        self.folder = folder
        self.key = key
        self.device = device
        self.scripts = scripts
        self.speed = speed
        self.joins = joins
        self.ticket = ticket
    }

    /// Returns when no queue is needed any more.
    ///
    /// - Throws: `QueueError`; ``PlaybackStopped`` or ``Interrupted``, and then the queue is kept.
    package func run() async throws {
        // A killed process leaves the queue of the script that it played.
        var index = scripts.indices.first { folder.devices(of: Self.key(key, $0)).contains(device) } ?? 0
        var loop = try makeLoop(index)
        while true {
            let header = loop.queue.header
            let name = scripts[index].name.map { ": \($0)" } ?? ""
            terminal.output("session \(header.session) of \(key.user), device \(device)\(name)\n")
            for remark in scripts[index].remarks { terminal.output("\(remark)\n") }
            var ending = try await play(&loop)
            while ending == .notSynced {
                loop = makeLoop(try folder.succeed(loop.queue), index)
                ending = try await play(&loop)
            }
            index += 1
            // The next queue exists before this one is removed, so that a restart continues with the next script.
            let next = index < scripts.count ? try makeLoop(index) : nil
            if ending == .done { try loop.queue.remove() }
            guard let next else { return }
            loop = next
        }
    }

    /// The session of a script, counted from 0.
    package static func key(_ key: SessionKey, _ index: Int) -> SessionKey {
        index == 0 ? key : SessionKey(key.user, key.session.sibling(index))
    }

    private func play(_ loop: inout PlaybackLoop) async throws -> PlaybackLoop.Ending {
        if let lost = loop.queue.header.notSynced {
            terminal.output(
                "saved locally and not synced: the server has lost session \(lost); "
                    + "logging the workout as session \(loop.queue.header.session)\n")
        }
        do {
            return try await context.follow(loop.subscriptions) { event in try await loop.handle(event) }
        } catch {
            throw loop.explain(error)
        }
    }

    /// Opens the queue of a script and resumes the playback.
    func makeLoop(_ index: Int = 0) throws(QueueError) -> PlaybackLoop {
        let key = Self.key(key, index)
        return makeLoop(
            try scripts[index].openQueue(in: folder, key, device, now: context.clock.now, joins: joins, ticket: ticket),
            index)
    }

    private func makeLoop(_ queue: QueueFile, _ index: Int) -> PlaybackLoop {
        let script = scripts[index]
        let playback = Playback(
            header: queue.header, contents: queue.contents, steps: script.steps(queue.header),
            pace: script.pace(queue.header, speed: speed, now: context.clock.moment), client: context.client,
            newID: { CommandID(UUID()) })
        return PlaybackLoop(service: self, script: script, queue: queue, playback: playback)
    }
}

/// Why a playback stopped before its end. Its queue is kept.
package struct PlaybackStopped: Error, CustomStringConvertible {
    package let reason: String
    /// The session of the first script.
    package let key: SessionKey
    package let device: Device
    /// The virtual run of the session.
    package var run: RunID?
    /// Whether the same queue can continue.
    package var canContinue = true

    package var description: String { "\(reason); \(canContinue ? remark : "the queue is kept")" }

    /// How to continue.
    var remark: String {
        let options = run.map { "--virtual-run \($0)" } ?? "--session \(key.session) --device \(device)"
        return "the queue is kept; to continue, run the command again with --user \(key.user) \(options)"
    }
}
