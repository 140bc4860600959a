/// An invalid command or request and the field that the refusal names.
struct RefusedPayload: Sendable {
    let channel: String
    let text: String
    /// The beginning of the refusal.
    let blames: String
    /// Whether the document rejects the payload too.
    let isReported: Bool

    init(_ channel: String, _ fields: String, blames: String, isReported: Bool = true) {
        let envelope = #""client":"a","id":"6f9619ff-8b86-d011-b42d-00c04fc964ff""#
        text = "{\(envelope),\(fields)}"
        self.channel = channel
        self.blames = blames
        self.isReported = isReported
    }

    static func start(_ fields: String, blames: String, isReported: Bool = true) -> RefusedPayload {
        RefusedPayload("command", "\"type\":\"start\",\(fields)", blames: blames, isReported: isReported)
    }

    private static func profile(_ fields: String, blames: String, isReported: Bool = true) -> RefusedPayload {
        RefusedPayload(
            "userRequest", "\"type\":\"setProfile\",\"profile\":{\(fields)}", blames: blames, isReported: isReported)
    }

    private static let commands = [
        RefusedPayload("command", #""type":"fly""#, blames: "type: unknown command \"fly\""),
        RefusedPayload("command", #""type":"pause","at":"now""#, blames: "at: "),
        RefusedPayload("command", #""type":"deviceReady""#, blames: "device: missing"),
        RefusedPayload("command", #""type":"deviceReady","device":"a/b""#, blames: "device: "),
        RefusedPayload("command", #""type":"deviceReady","device":"+""#, blames: "device: "),
        RefusedPayload(
            "command", #""type":"end","streams":{"samples/a":-1}"#,
            blames: "streams: at most 64 streams of up to 100000000 items each"),
        RefusedPayload("command", #""type":"end","streams":{"others/a":1}"#, blames: "streams.others/a: "),
        start(#""activity":"flying""#, blames: "activity: "),
        start(#""environment":"space""#, blames: "environment: "),
        start(#""mode":"treadmill""#, blames: "mode: "),
        start(#""countdown":601"#, blames: "countdown: 0 to 600 s"),
        start(#""countdown":-1"#, blames: "countdown: 0 to 600 s"),
        start(#""countdown":1e999"#, blames: "countdown: "),
        start(#""startAt":"soon""#, blames: "startAt: "),
        start(#""endAt":[]"#, blames: "endAt: "),
        start(#""name":"""#, blames: "name: 1 to 200 bytes"),
        start(#""name":"Run\u001b[2J""#, blames: "name: 1 to 200 bytes without control characters"),
        start(#""name":"Run\u009b2J""#, blames: "name: 1 to 200 bytes without control characters"),
        start(#""name":"Run\u202e""#, blames: "name: 1 to 200 bytes without control characters"),
        start("\"name\":\"\(String(repeating: "x", count: 201))\"", blames: "name: 1 to 200 bytes"),
        // A schema counts characters, the code counts bytes.
        start("\"name\":\"\(String(repeating: "é", count: 101))\"", blames: "name: 1 to 200 bytes", isReported: false),
        start(#""timeZone":"Mars/Base""#, blames: "timeZone: expected an IANA time zone", isReported: false),
        start(#""timeZone":"UTC+05:00""#, blames: "timeZone: expected an IANA time zone", isReported: false),
        start(#""run":"run""#, blames: "run: "),
        start(#""notSynced":7"#, blames: "notSynced: "),
        start(#""permissions":{"heartRate":true}"#, blames: "permissions.workouts: missing"),
        start(#""permissions":{"heartRate":1,"workouts":true}"#, blames: "permissions.heartRate: "),
        start(#""place":{"la":90.1,"lo":0}"#, blames: "place: la -90 to 90 and lo -180 to 180"),
        start(#""place":{"la":0,"lo":-180.1}"#, blames: "place: la -90 to 90 and lo -180 to 180"),
        start(#""place":{"la":0}"#, blames: "place.lo: missing"),
        start(#""replace":"yes""#, blames: "replace: "),
    ]

    private static let plan = #""plan":"6f9619ff-8b86-d011-b42d-00c04fc964ff""#

    private static let requests = [
        RefusedPayload("userRequest", #""type":"sharePlan""#, blames: "type: unknown request \"sharePlan\""),
        RefusedPayload("userRequest", #""type":"savePlan""#, blames: "plan: missing"),
        RefusedPayload("userRequest", #""type":"savePlan","plan":{}"#, blames: "plan: "),
        RefusedPayload("userRequest", "\"type\":\"savePlan\",\(plan)", blames: "definition: missing"),
        RefusedPayload(
            "userRequest", "\"type\":\"savePlan\",\(plan),\"definition\":{\"sections\":[]}",
            blames: "definition.sections: 1 to 20"),
        RefusedPayload("userRequest", #""type":"deletePlan""#, blames: "plan: missing"),
        RefusedPayload("userRequest", #""type":"deletePlan","plan":"all""#, blames: "plan: "),
        RefusedPayload("userRequest", #""type":"workouts","limit":0"#, blames: "limit: 1 to 100"),
        RefusedPayload("userRequest", #""type":"workouts","limit":101"#, blames: "limit: 1 to 100"),
        RefusedPayload("userRequest", #""type":"workouts","limit":1.5"#, blames: "limit: "),
        RefusedPayload("userRequest", #""type":"workouts","limit":1e30"#, blames: "limit: "),
        RefusedPayload("userRequest", #""type":"workouts","before":"now""#, blames: "before: "),
        RefusedPayload("userRequest", #""type":"workouts","before":1.5e9"#, blames: "before: "),
        RefusedPayload("userRequest", #""type":"workouts","before":{"at":1.5e9}"#, blames: "before.session: missing"),
        RefusedPayload("userRequest", #""type":"deleteWorkout""#, blames: "session: missing"),
        RefusedPayload("userRequest", #""type":"deleteWorkout","session":"all""#, blames: "session: "),
        RefusedPayload("userRequest", #""type":"setProfile""#, blames: "profile: missing"),
        RefusedPayload("userRequest", #""type":"setProfile","profile":[]"#, blames: "profile: "),
        profile(#""units":"nautical""#, blames: "profile.units: "),
        profile(#""birthYear":"1980""#, blames: "profile.birthYear: "),
        profile(#""birthYear":1980.5"#, blames: "profile.birthYear: not a whole year"),
        profile(#""birthYear":1e300"#, blames: "profile.birthYear: ", isReported: false),
        profile(#""birthYear":1e999"#, blames: "profile: out of range", isReported: false),
        profile(#""timeZone":"GMT+3""#, blames: "profile: timeZone: expected an IANA time zone", isReported: false),
        profile(#""timeZone":"PST""#, blames: "profile: timeZone: expected an IANA time zone", isReported: false),
        profile(#""sex":"m""#, blames: "profile.sex: "),
        profile(#""weight":"80 kg""#, blames: "profile.weight: "),
        profile(#""zones":[100,120,140,"160"]"#, blames: "profile.zones[3]: "),
        profile(#""timeZone":"Mars/Base""#, blames: "profile: timeZone: expected an IANA time zone", isReported: false),
    ]

    static let all = commands + requests + definitions + planActions
}
