import Bus
import Foundation
import Logging
import MQTT
import ServiceKit
import Timing
import Workouts

extension StreamLoop {
    /// Takes in a route again whose stored track is unreadable, unless it is another one meanwhile.
    mutating func replaceRoute(_ route: StoredRoute, of key: SessionKey, _ now: Moment) {
        guard let session = machine.sessions[key], session.record.route == route else { return }
        context.logger.error("track unreadable, requesting it again", metadata: LogKey.session(key))
        machine.replaceRoute(route, of: session, now: now)
    }

    /// Requests missing chunks of the routes that sessions take in.
    mutating func requestTracks(_ now: Moment) {
        for key in machine.requestsDue(now: now) {
            let request = SessionRequest(id: CommandID(UUID()), client: context.configuration.client, action: .track)
            send([Topic.session(key, .request).message(JSONCoding.encode(request))], of: key)
        }
    }

    /// Handles a request of a viewer. The chunks of a session are published for all readers.
    mutating func receiveViewerRequest(
        _ message: MQTTMessage, of user: User, from viewer: User, _ now: Moment
    ) async throws {
        guard viewerRates.take(viewer, now) else {
            return context.limits.reached("viewer_requests", by: viewer, at: now)
        }
        // The engine handles requests for history and rejects invalid ones.
        guard case .chunks(let session)? = try? JSONCoding.decode(ViewerRequest.self, from: message.payload).action,
            writer.owns(session.shard)
        else { return }
        let key = SessionKey(user, session)
        try await load([.session(key, .request)], now)
        machine.requestChunks(key)
    }
}
