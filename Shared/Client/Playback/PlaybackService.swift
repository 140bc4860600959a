import Foundation
package import ServiceKit
import ServiceLifecycle
package import Workouts

/// Plays a script into a session until the finished workout holds all of its items.
package struct PlaybackService: Service {
    let context: ServiceContext
    let terminal: Terminal
    let folder: QueueFolder
    package let key: SessionKey
    package let device: Device
    let script: PlaybackScript
    /// Times real time; 0 is as fast as the items are acknowledged.
    let speed: Double
    /// Whether another device starts, pauses and ends the session.
    let joins: Bool

    package init(
        context: ServiceContext, terminal: Terminal, folder: QueueFolder, key: SessionKey, device: Device,
        script: PlaybackScript, speed: Double = 1, joins: Bool = false
    ) {
        self.context = context
        self.terminal = terminal
        self.folder = folder
        self.key = key
        self.device = device
        self.script = script
        self.speed = speed
        self.joins = joins
    }

    /// Returns when the queue is no longer needed.
    ///
    /// - Throws: `QueueError`; ``PlaybackStopped`` or ``Interrupted``, and then the queue is kept.
    package func run() async throws {
        var loop = try makeLoop()
        terminal.output("session \(loop.queue.header.session) of \(key.user), device \(device)\n")
        while try await play(&loop) == .notSynced { loop = makeLoop(try folder.succeed(loop.queue)) }
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

    /// Opens the queue and resumes the playback.
    func makeLoop() throws(QueueError) -> PlaybackLoop {
        makeLoop(try script.openQueue(in: folder, key, device, now: context.clock.now, joins: joins))
    }

    private func makeLoop(_ queue: QueueFile) -> PlaybackLoop {
        let playback = Playback(
            header: queue.header, contents: queue.contents, steps: script.steps(queue.header),
            pace: script.pace(queue.header, speed: speed, now: context.clock.moment), client: context.client,
            newID: { CommandID(UUID()) })
        return PlaybackLoop(service: self, queue: queue, playback: playback)
    }
}

/// Why a playback stopped before its end. Its queue is kept.
package struct PlaybackStopped: Error, CustomStringConvertible {
    package let reason: String
    package let header: QueueHeader
    /// Whether the same queue can continue.
    package var canContinue = true

    package var description: String {
        "\(reason); \(canContinue ? Self.remark(header) : "the queue is kept")"
    }

    /// How to continue.
    static func remark(_ header: QueueHeader) -> String {
        "the queue is kept; to continue, run the command again with --user \(header.user) --session \(header.session) "
            + "--device \(header.device)"
    }
}
