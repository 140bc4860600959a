import Bus
import Foundation
import TestSupport
import Testing
import Workouts

struct VirtualRunRequestTests {
    private static func request(_ json: String) throws -> VirtualRunRequest {
        try JSONCoding.decode(
            VirtualRunRequest.self,
            from: Array(#"{"id":"11111111-1111-4111-8111-111111111111","client":"phone-1",\#(json)}"#.utf8))
    }

    private static let run = #""run":"22222222-2222-4222-8222-222222222222","#

    @Test(arguments: [
        #"\#(run)"type":"create","invite":["ben"],"goal":{"distance":5000},"ghosts":[{"pace":300}]"#,
        #"\#(run)"type":"create","invite":[],"ghosts":[{"session":"33333333-3333-4333-8333-333333333333"}]"#,
        #"\#(run)"type":"invite","users":["ben","cleo"]"#,
        #"\#(run)"type":"share","sharing":{"position":false,"hideNear":400}"#,
        #"\#(run)"type":"accept""#, #"\#(run)"type":"confirm""#, #""type":"runs","limit":5"#,
        #""type":"setInvites","from":"contacts""#,
    ])
    func `a request survives encoding and decoding`(json: String) throws {
        let request = try Self.request(json)
        #expect(try JSONCoding.decode(VirtualRunRequest.self, from: JSONCoding.encode(request)) == request)
    }

    @Test(arguments: [
        (#"\#(run)"type":"create","invite":[]"#, "invite"),
        (#"\#(run)"type":"create","invite":["ben","ben"]"#, "invite"),
        (#"\#(run)"type":"create","invite":["ben"],"goal":{"distance":99}"#, "goal.distance"),
        (#"\#(run)"type":"create","invite":["ben"],"countdown":2"#, "countdown"),
        (#"\#(run)"type":"create","invite":["ben"],"start":"rolling","scheduledAt":1"#, "scheduledAt"),
        (#"\#(run)"type":"create","invite":["ben"],"ghosts":[{"pace":119}]"#, "ghosts[0].pace"),
        (#"\#(run)"type":"invite","users":[]"#, "users"), (#""type":"accept""#, "run"),
        (#"\#(run)"type":"dance""#, "type"),
        (#"\#(run)"type":"share","sharing":{"hideNear":1601}"#, "sharing.hideNear"),
    ])
    func `an invalid request names the field`(json: String, field: String) throws {
        let error = try #require(throws: PayloadError.self) { try Self.request(json) }
        #expect(error.field == field)
    }
}
