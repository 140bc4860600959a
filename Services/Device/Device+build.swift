import Client
import Foundation
import ServiceKit
import ServiceLifecycle
import Workouts

extension PlaybackOptions {
    /// Draws missing names and connects the playback to the broker.
    func build(_ context: ServiceContext, _ scripts: [PlaybackScript], terminal: Terminal = .standard)
        -> PlaybackService
    {
        let folder = QueueFolder(path: queueFolder)
        let user = user ?? context.user ?? Self.defaultUser
        let key = SessionKey(user, session ?? SessionID(UUID()))
        let stored = scripts.indices.lazy.compactMap { folder.devices(of: PlaybackService.key(key, $0)).first }
        return PlaybackService(
            context: context, terminal: terminal, folder: folder, key: key,
            device: device ?? stored.first ?? .newWatch(), scripts: scripts, speed: speedUp, joins: join)
    }
}

extension Simulate {
    func build(_ context: ServiceContext) -> any Service {
        if let virtualRun {
            return RunnerService(
                context: context, terminal: .standard, folder: QueueFolder(path: playback.queueFolder),
                user: playback.user ?? context.user ?? PlaybackOptions.defaultUser, virtualRun: virtualRun,
                accepts: accept,
                device: playback.device, script: .simulation(seed: seed, duration: duration, rate: rate),
                speed: playback.speedUp)
        }
        guard let devices else {
            return playback.build(context, [.simulation(seed: seed, duration: duration, rate: rate)])
        }
        return FleetService(
            context: context, terminal: .standard, keys: FleetService.keys(devices),
            device: playback.device ?? .newWatch(), seed: seed ?? .random(in: 0 ... .max), rate: rate,
            duration: duration, speed: playback.speedUp, runSize: runSize)
    }
}

extension Device {
    /// A watch with four random characters.
    static func newWatch() -> Device {
        let characters = "abcdefghijklmnopqrstuvwxyz0123456789"
        let random = String((0..<4).compactMap { _ in characters.randomElement() })
        guard let device = Device("watch-\(random)") else { preconditionFailure("the name matches the pattern") }
        return device
    }
}
