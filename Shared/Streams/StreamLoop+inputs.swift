import Bus
import Foundation
import Logging
import ServiceKit
import Workouts

extension StreamLoop {
    /// Takes in a route again whose stored track is unreadable.
    mutating func replaceRoute(_ route: StoredRoute, of key: SessionKey, _ now: Moment) {
        context.logger.error("track unreadable, requesting it again", metadata: [LogKey.session: "\(key)"])
        machine.replaceRoute(route, of: key, now: now)
    }

    /// Requests missing chunks of the routes that sessions take in.
    mutating func requestTracks(_ now: Moment) {
        for key in machine.requestsDue(now: now) {
            let request = SessionRequest(id: CommandID(UUID()), client: context.configuration.client, action: .track)
            send([Topic.session(key, .request).message(JSONCoding.encode(request))], of: key)
        }
    }
}
