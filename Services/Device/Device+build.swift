import Foundation
import ServiceKit
import Workouts

extension PlaybackOptions {
    /// Draws the names that were not given and wires the playback to the broker.
    func build(_ context: ServiceContext, _ script: PlaybackScript, terminal: Terminal = .standard) -> PlaybackService {
        let folder = QueueFolder(path: queueFolder)
        let key = SessionKey(user, session ?? SessionID(UUID()))
        return PlaybackService(
            context: context, terminal: terminal, folder: folder, key: key,
            device: device ?? folder.devices(of: key).first ?? .newWatch(), script: script, speed: speedUp, joins: join)
    }
}
