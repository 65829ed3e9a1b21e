# verify-webhook.sh FILE-WITH-BODY SIGNATURE SECRET: exit code 0 for a delivery of ours (does not look at its age)
t=$(printf %s "$2" | sed -n 's/^t=\([0-9][0-9]*\),.*/\1/p')
ours=$({ printf '%s.' "$t"; cat "$1"; } | openssl dgst -sha256 -hmac "$3" | sed 's/.*= *//')
case ",$2," in *",v1=$ours,"*) exit 0 ;; *) exit 1 ;; esac
